// What Rust's standard library asks of bcryptprimitives.dll, for a Wine that has none.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *buffer, SIZE_T bytes) {
    while (bytes > 0) {
        ULONG part = bytes > 0x10000000 ? 0x10000000 : (ULONG)bytes;
        if (!SystemFunction036(buffer, part)) {
            return FALSE;
        }
        buffer += part;
        bytes -= part;
    }
    return TRUE;
}

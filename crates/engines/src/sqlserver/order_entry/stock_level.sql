-- Clause 2.8.
CREATE PROCEDURE stock_level
    @w int, @d int, @threshold int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @next_order int, @low_stock int;
    BEGIN TRANSACTION;
    SELECT @next_order = d_next_o_id FROM district WHERE d_w_id = @w AND d_id = @d;
    SELECT @low_stock = COUNT(DISTINCT s_i_id) FROM order_line, stock
        WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id >= @next_order - 20 AND ol_o_id < @next_order
            AND s_w_id = @w AND s_i_id = ol_i_id AND s_quantity < @threshold;
    COMMIT TRANSACTION;
    SELECT @low_stock AS low_stock;
END

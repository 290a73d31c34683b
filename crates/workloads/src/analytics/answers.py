"""Writes answers.csv: what DuckDB answers to the queries of `analytics` on the rows of another build of the generator.

    python3 -m venv v && v/bin/pip install duckdb==2.0.1 tpchgen-cli==4.0.0
    PATH=$PWD/v/bin:$PATH v/bin/python crates/workloads/src/analytics/answers.py 0.01 0.1 1

No code is shared with étalon: neither the loading of the rows nor the hash of an answer.
"""

import hashlib
import math
import pathlib
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

import duckdb

HERE = pathlib.Path(__file__).parent
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def number_text(number):
    """A number to 9 digits; a larger one to two decimals and at most 12 digits."""
    before_point = math.floor(math.log10(max(abs(number), 1.0))) + 1
    digits = min(max(before_point + 2, 9), 12)
    rounded = float(f"{number:.{digits - 1}e}")
    if rounded == int(rounded):
        return str(int(rounded))
    return format(Decimal(repr(rounded)), "f")


def value_text(value):
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (float, Decimal)):
        return number_text(float(value))
    text = str(value).rstrip(" ")
    # A text that is a whole number is written as one: engines differ in what they call a number.
    if re.fullmatch("0|-?[1-9][0-9]*", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def digest(rows):
    """The first 52 bits of the hash of all rows in their order, a line each."""
    lines = "".join(", ".join(map(value_text, row)) + "\n" for row in rows)
    return int.from_bytes(hashlib.sha256(lines.encode()).digest()[:8], "big") >> 12


def answers(scale):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tpchgen-cli", "parquet", "-q", "-s", scale, "--output-dir", folder], check=True)
        database = duckdb.connect()
        for table in TABLES:
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")
        for file in sorted(HERE.glob("queries/*.sql")):
            sql = file.read_text().replace("$SHARE", f"{0.0001 / float(scale):.9f}")
            rows = database.execute(sql).fetchall()
            ordered = "\nORDER BY" in sql
            rows = rows if ordered else sorted(rows, key=str)
            yield f"{scale},{file.stem},{len(rows)},{digest(rows)}"


lines = ["scale,query,rows,digest"]
for scale in sys.argv[1:]:
    lines += answers(scale)
(HERE / "answers.csv").write_text("\n".join(lines) + "\n")

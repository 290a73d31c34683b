-- Clause 2.4. A line is 13 characters: six digits of the item, five of its warehouse, two of the pieces.
CREATE PROCEDURE enter_order(
    in_w integer, in_d integer, in_c integer, in_count integer, in_all_local integer, in_lines text,
    INOUT is_entered integer DEFAULT 1, INOUT order_number integer DEFAULT NULL, INOUT entered_at timestamp DEFAULT NULL,
    INOUT last_name text DEFAULT NULL, INOUT credit text DEFAULT NULL, INOUT discount numeric DEFAULT NULL,
    INOUT tax_of_warehouse numeric DEFAULT NULL, INOUT tax_of_district numeric DEFAULT NULL,
    INOUT total numeric DEFAULT NULL, INOUT shown_lines text DEFAULT ''
) LANGUAGE plpgsql AS $procedure$
DECLARE
    line_item integer;
    line_supply integer;
    line_quantity integer;
    item_price numeric;
    item_name text;
    item_known text;
    stock_left integer;
    stock_known text;
    stock_info text;
    line_amount numeric;
    amounts numeric := 0;
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d
        RETURNING d_next_o_id - 1, d_tax INTO STRICT order_number, tax_of_district;
    SELECT w_tax INTO STRICT tax_of_warehouse FROM warehouse WHERE w_id = in_w;
    SELECT c_discount, c_last, c_credit INTO STRICT discount, last_name, credit
        FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    entered_at := CURRENT_TIMESTAMP;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (order_number, in_d, in_w, in_c, entered_at, NULL, in_count, in_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_number, in_d, in_w);
    FOR line IN 1 .. in_count LOOP
        line_item := substr(in_lines, line * 13 - 12, 6)::integer;
        line_supply := substr(in_lines, line * 13 - 6, 5)::integer;
        line_quantity := substr(in_lines, line * 13 - 1, 2)::integer;
        SELECT i_price, i_name, i_data INTO item_price, item_name, item_known FROM item WHERE i_id = line_item;
        IF NOT FOUND THEN
            ROLLBACK;
            is_entered := 0;
            RETURN;
        END IF;
        UPDATE stock SET s_quantity = CASE WHEN s_quantity >= line_quantity + 10 THEN s_quantity - line_quantity
                ELSE s_quantity - line_quantity + 91 END,
            s_ytd = s_ytd + line_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN line_supply = in_w THEN 0 ELSE 1 END
            WHERE s_w_id = line_supply AND s_i_id = line_item
            RETURNING s_quantity, s_data, CASE in_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO STRICT stock_left, stock_known, stock_info;
        line_amount := line_quantity * item_price;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                ol_amount, ol_dist_info)
            VALUES (order_number, in_d, in_w, line, line_item, line_supply, NULL, line_quantity, line_amount, stock_info);
        amounts := amounts + line_amount;
        shown_lines := shown_lines || item_name || '|' || stock_left || '|'
            || CASE WHEN item_known LIKE '%ORIGINAL%' AND stock_known LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END
            || '|' || item_price || '|' || line_amount || ';';
    END LOOP;
    total := round(amounts * (1 - discount) * (1 + tax_of_warehouse + tax_of_district), 2);
END
$procedure$

-- Clause 2.4. A line is 13 characters: six digits of the item, five of its warehouse, two of the pieces.
CREATE PROCEDURE enter_order(
    in_w INT, in_d INT, in_c INT, in_count INT, in_all_local INT, in_lines VARCHAR(200)
)
BEGIN
    DECLARE is_entered INT DEFAULT 1;
    DECLARE order_number, line, line_item, line_supply, line_quantity, stock_left INT;
    DECLARE last_name VARCHAR(16);
    DECLARE credit CHAR(2);
    DECLARE discount, tax_of_warehouse, tax_of_district DECIMAL(4, 4);
    DECLARE item_price DECIMAL(5, 2);
    DECLARE line_amount DECIMAL(6, 2);
    DECLARE amounts DECIMAL(12, 2) DEFAULT 0;
    DECLARE total DECIMAL(12, 2);
    DECLARE item_name, stock_info VARCHAR(24);
    DECLARE item_known, stock_known VARCHAR(50);
    DECLARE shown_lines VARCHAR(1200) DEFAULT '';
    DECLARE entered_at DATETIME;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d;
    SELECT d_next_o_id - 1, d_tax INTO order_number, tax_of_district FROM district WHERE d_w_id = in_w AND d_id = in_d;
    SELECT w_tax INTO tax_of_warehouse FROM warehouse WHERE w_id = in_w;
    SELECT c_discount, c_last, c_credit INTO discount, last_name, credit
        FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    SET entered_at = CURRENT_TIMESTAMP;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (order_number, in_d, in_w, in_c, entered_at, NULL, in_count, in_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_number, in_d, in_w);
    SET line = 1;
    all_lines: WHILE line <= in_count DO
        SET line_item = SUBSTRING(in_lines, line * 13 - 12, 6);
        SET line_supply = SUBSTRING(in_lines, line * 13 - 6, 5);
        SET line_quantity = SUBSTRING(in_lines, line * 13 - 1, 2);
        SET item_price = NULL;
        SELECT i_price, i_name, i_data INTO item_price, item_name, item_known FROM item WHERE i_id = line_item;
        IF item_price IS NULL THEN
            SET is_entered = 0;
            LEAVE all_lines;
        END IF;
        UPDATE stock SET s_quantity = CASE WHEN s_quantity >= line_quantity + 10 THEN s_quantity - line_quantity
                ELSE s_quantity - line_quantity + 91 END,
            s_ytd = s_ytd + line_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + IF(line_supply = in_w, 0, 1)
            WHERE s_w_id = line_supply AND s_i_id = line_item;
        SELECT s_quantity, s_data, CASE in_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO stock_left, stock_known, stock_info FROM stock WHERE s_w_id = line_supply AND s_i_id = line_item;
        SET line_amount = line_quantity * item_price;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                ol_amount, ol_dist_info)
            VALUES (order_number, in_d, in_w, line, line_item, line_supply, NULL, line_quantity, line_amount, stock_info);
        SET amounts = amounts + line_amount;
        SET shown_lines = CONCAT(shown_lines, item_name, '|', stock_left, '|',
            IF(item_known LIKE '%ORIGINAL%' AND stock_known LIKE '%ORIGINAL%', 'B', 'G'), '|', item_price, '|', line_amount, ';');
        SET line = line + 1;
    END WHILE;
    IF is_entered = 1 THEN
        SET total = ROUND(amounts * (1 - discount) * (1 + tax_of_warehouse + tax_of_district), 2);
        COMMIT;
    ELSE
        ROLLBACK;
    END IF;
    SELECT is_entered, order_number, entered_at, last_name, credit, discount, tax_of_warehouse, tax_of_district, total,
        shown_lines;
END

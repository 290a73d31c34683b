-- Clause 2.6. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE order_status(in_c_w INT, in_c_d INT, in_c INT, in_last VARCHAR(16))
BEGIN
    DECLARE customer_number INT DEFAULT in_c;
    DECLARE before_middle, order_number, carrier, line_item, line_supply, line_quantity INT;
    DECLARE balance DECIMAL(12, 2);
    DECLARE first_name, last_name VARCHAR(16);
    DECLARE middle_name CHAR(2);
    DECLARE entered_at, line_delivered DATETIME;
    DECLARE line_amount DECIMAL(6, 2);
    DECLARE shown_lines VARCHAR(1200) DEFAULT '';
    DECLARE is_last INT DEFAULT 0;
    DECLARE lines_of_order CURSOR FOR SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = in_c_w AND ol_d_id = in_c_d AND ol_o_id = order_number;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_last = 1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION READ ONLY;
    IF in_c = 0 THEN
        SELECT (COUNT(*) + 1) DIV 2 - 1 INTO before_middle FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last;
        SELECT c_id INTO customer_number FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last
            ORDER BY c_first LIMIT before_middle, 1;
    END IF;
    SELECT c_balance, c_first, c_middle, c_last INTO balance, first_name, middle_name, last_name
        FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered_at, carrier FROM orders
        WHERE o_w_id = in_c_w AND o_d_id = in_c_d AND o_id = (SELECT MAX(o_id) FROM orders
            WHERE o_w_id = in_c_w AND o_d_id = in_c_d AND o_c_id = customer_number);
    SET is_last = 0;
    OPEN lines_of_order;
    all_lines: LOOP
        FETCH lines_of_order INTO line_item, line_supply, line_quantity, line_amount, line_delivered;
        IF is_last = 1 THEN
            LEAVE all_lines;
        END IF;
        SET shown_lines = CONCAT(shown_lines, line_item, '|', line_supply, '|', line_quantity, '|', line_amount, '|',
            COALESCE(line_delivered, ''), ';');
    END LOOP;
    CLOSE lines_of_order;
    COMMIT;
    SELECT customer_number, balance, first_name, middle_name, last_name, order_number, entered_at, carrier, shown_lines;
END

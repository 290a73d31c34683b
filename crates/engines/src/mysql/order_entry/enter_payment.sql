-- Clause 2.5. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE enter_payment(
    in_w INT, in_d INT, in_c_w INT, in_c_d INT, in_c INT, in_last VARCHAR(16), in_amount DECIMAL(6, 2)
)
BEGIN
    DECLARE customer_number INT DEFAULT in_c;
    DECLARE before_middle INT;
    DECLARE warehouse_name, district_name VARCHAR(10);
    DECLARE shown_warehouse, shown_district VARCHAR(100);
    DECLARE last_name VARCHAR(16);
    DECLARE shown_customer VARCHAR(255);
    DECLARE credit CHAR(2);
    DECLARE balance DECIMAL(12, 2);
    DECLARE noted VARCHAR(600);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w;
    SELECT w_name, CONCAT_WS('|', w_street_1, w_street_2, w_city, w_state, w_zip) INTO warehouse_name, shown_warehouse
        FROM warehouse WHERE w_id = in_w;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d;
    SELECT d_name, CONCAT_WS('|', d_street_1, d_street_2, d_city, d_state, d_zip) INTO district_name, shown_district
        FROM district WHERE d_w_id = in_w AND d_id = in_d;
    IF in_c = 0 THEN
        SELECT (COUNT(*) + 1) DIV 2 - 1 INTO before_middle FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last;
        SELECT c_id INTO customer_number FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last
            ORDER BY c_first LIMIT before_middle, 1;
    END IF;
    UPDATE customer SET c_balance = c_balance - in_amount, c_ytd_payment = c_ytd_payment + in_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
    SELECT c_last, CONCAT_WS('|', c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
            c_credit_lim, c_discount), c_credit, c_balance INTO last_name, shown_customer, credit, balance
        FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
    IF credit = 'BC' THEN
        SELECT c_data INTO noted FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
        SET noted = LEFT(CONCAT(CONCAT_WS(' ', customer_number, in_c_d, in_c_w, in_d, in_w, in_amount), '|', noted), 500);
        UPDATE customer SET c_data = noted WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer_number, in_c_d, in_c_w, in_d, in_w, CURRENT_TIMESTAMP, in_amount,
            CONCAT(warehouse_name, '    ', district_name));
    COMMIT;
    SELECT customer_number, shown_warehouse, shown_district, last_name, shown_customer, credit, balance,
        LEFT(noted, 200) AS shown_data;
END

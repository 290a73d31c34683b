-- Clause 2.7, all ten districts in one transaction.
CREATE PROCEDURE deliver_orders(in_w INT, in_carrier INT)
BEGIN
    DECLARE delivered, skipped INT DEFAULT 0;
    DECLARE district_number INT DEFAULT 1;
    DECLARE oldest, customer_number, carrier INT;
    DECLARE total DECIMAL(12, 2);
    DECLARE shown_orders VARCHAR(200) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    WHILE district_number <= 10 DO
        SET oldest = NULL;
        SELECT no_o_id INTO oldest FROM new_order WHERE no_w_id = in_w AND no_d_id = district_number
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF oldest IS NULL THEN
            SET skipped = skipped + 1;
        ELSE
            SELECT o_c_id, o_carrier_id INTO customer_number, carrier FROM orders
                WHERE o_w_id = in_w AND o_d_id = district_number AND o_id = oldest FOR UPDATE;
            IF carrier IS NOT NULL THEN
                SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'another Delivery has delivered the order meanwhile';
            END IF;
            DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = district_number AND no_o_id = oldest;
            UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = district_number AND o_id = oldest;
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
                WHERE ol_w_id = in_w AND ol_d_id = district_number AND ol_o_id = oldest;
            SELECT SUM(ol_amount) INTO total FROM order_line
                WHERE ol_w_id = in_w AND ol_d_id = district_number AND ol_o_id = oldest;
            UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = in_w AND c_d_id = district_number AND c_id = customer_number;
            SET delivered = delivered + 1;
            SET shown_orders = CONCAT(shown_orders, district_number, '|', oldest, ';');
        END IF;
        SET district_number = district_number + 1;
    END WHILE;
    COMMIT;
    SELECT delivered, skipped, shown_orders;
END

-- Clause 2.8.
CREATE PROCEDURE stock_level(in_w INT, in_d INT, in_threshold INT)
BEGIN
    DECLARE next_order, low_stock INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION READ ONLY;
    SELECT d_next_o_id INTO next_order FROM district WHERE d_w_id = in_w AND d_id = in_d;
    SELECT COUNT(DISTINCT s_i_id) INTO low_stock FROM order_line, stock
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
            AND s_w_id = in_w AND s_i_id = ol_i_id AND s_quantity < in_threshold;
    COMMIT;
    SELECT low_stock;
END

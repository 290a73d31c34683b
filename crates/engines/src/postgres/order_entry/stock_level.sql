-- Clause 2.8.
CREATE PROCEDURE stock_level(in_w integer, in_d integer, in_threshold integer, INOUT low_stock integer DEFAULT NULL)
LANGUAGE plpgsql AS $procedure$
DECLARE
    next_order integer;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order FROM district WHERE d_w_id = in_w AND d_id = in_d;
    SELECT count(DISTINCT s_i_id) INTO STRICT low_stock FROM order_line, stock
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
            AND s_w_id = in_w AND s_i_id = ol_i_id AND s_quantity < in_threshold;
END
$procedure$

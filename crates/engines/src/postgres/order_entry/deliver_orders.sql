-- Clause 2.7, all ten districts in one transaction.
CREATE PROCEDURE deliver_orders(
    in_w integer, in_carrier integer,
    INOUT delivered integer DEFAULT 0, INOUT skipped integer DEFAULT 0, INOUT shown_orders text DEFAULT ''
) LANGUAGE plpgsql AS $procedure$
DECLARE
    oldest integer;
    customer_number integer;
    carrier integer;
    total numeric;
BEGIN
    FOR district_number IN 1 .. 10 LOOP
        SELECT no_o_id INTO oldest FROM new_order WHERE no_w_id = in_w AND no_d_id = district_number
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF NOT FOUND THEN
            skipped := skipped + 1;
            CONTINUE;
        END IF;
        SELECT o_c_id, o_carrier_id INTO STRICT customer_number, carrier FROM orders
            WHERE o_w_id = in_w AND o_d_id = district_number AND o_id = oldest FOR UPDATE;
        IF carrier IS NOT NULL THEN
            RAISE EXCEPTION 'another Delivery has delivered the order meanwhile' USING ERRCODE = '40001';
        END IF;
        DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = district_number AND no_o_id = oldest;
        UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = district_number AND o_id = oldest;
        UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
            WHERE ol_w_id = in_w AND ol_d_id = district_number AND ol_o_id = oldest;
        SELECT sum(ol_amount) INTO STRICT total FROM order_line
            WHERE ol_w_id = in_w AND ol_d_id = district_number AND ol_o_id = oldest;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = in_w AND c_d_id = district_number AND c_id = customer_number;
        delivered := delivered + 1;
        shown_orders := shown_orders || district_number || '|' || oldest || ';';
    END LOOP;
END
$procedure$

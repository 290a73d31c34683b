-- Clause 2.6. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE order_status(
    in_c_w integer, in_c_d integer, in_c integer, in_last text,
    INOUT customer_number integer DEFAULT NULL, INOUT balance numeric DEFAULT NULL, INOUT first_name text DEFAULT NULL,
    INOUT middle_name text DEFAULT NULL, INOUT last_name text DEFAULT NULL, INOUT order_number integer DEFAULT NULL,
    INOUT entered_at timestamp DEFAULT NULL, INOUT carrier integer DEFAULT NULL, INOUT shown_lines text DEFAULT NULL
) LANGUAGE plpgsql AS $procedure$
DECLARE
    of_name integer[];
BEGIN
    customer_number := in_c;
    IF in_c = 0 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO of_name
            FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last;
        customer_number := of_name[(cardinality(of_name) + 1) / 2];
    END IF;
    SELECT c_balance, c_first, c_middle, c_last INTO STRICT balance, first_name, middle_name, last_name
        FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
    SELECT o_id, o_entry_d, o_carrier_id INTO STRICT order_number, entered_at, carrier FROM orders
        WHERE o_w_id = in_c_w AND o_d_id = in_c_d AND o_id = (SELECT max(o_id) FROM orders
            WHERE o_w_id = in_c_w AND o_d_id = in_c_d AND o_c_id = customer_number);
    SELECT string_agg(ol_i_id || '|' || ol_supply_w_id || '|' || ol_quantity || '|' || ol_amount || '|'
            || coalesce(ol_delivery_d::text, ''), ';') || ';' INTO STRICT shown_lines
        FROM order_line WHERE ol_w_id = in_c_w AND ol_d_id = in_c_d AND ol_o_id = order_number;
END
$procedure$

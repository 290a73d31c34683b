-- Clause 2.5. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE enter_payment(
    in_w integer, in_d integer, in_c_w integer, in_c_d integer, in_c integer, in_last text, in_amount numeric,
    INOUT customer_number integer DEFAULT NULL, INOUT shown_warehouse text DEFAULT NULL,
    INOUT shown_district text DEFAULT NULL, INOUT last_name text DEFAULT NULL, INOUT shown_customer text DEFAULT NULL,
    INOUT credit text DEFAULT NULL, INOUT balance numeric DEFAULT NULL, INOUT shown_data text DEFAULT NULL
) LANGUAGE plpgsql AS $procedure$
DECLARE
    of_name integer[];
    warehouse_name text;
    district_name text;
    noted text;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w
        RETURNING w_name, concat_ws('|', w_street_1, w_street_2, w_city, w_state, w_zip)
        INTO STRICT warehouse_name, shown_warehouse;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d
        RETURNING d_name, concat_ws('|', d_street_1, d_street_2, d_city, d_state, d_zip)
        INTO STRICT district_name, shown_district;
    customer_number := in_c;
    IF in_c = 0 THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO of_name
            FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last;
        customer_number := of_name[(cardinality(of_name) + 1) / 2];
    END IF;
    UPDATE customer SET c_balance = c_balance - in_amount, c_ytd_payment = c_ytd_payment + in_amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number
        RETURNING c_last, concat_ws('|', c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
            c_credit_lim, c_discount), c_credit, c_balance
        INTO STRICT last_name, shown_customer, credit, balance;
    IF credit = 'BC' THEN
        SELECT c_data INTO STRICT noted FROM customer
            WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
        noted := left(concat_ws(' ', customer_number, in_c_d, in_c_w, in_d, in_w, in_amount) || '|' || noted, 500);
        UPDATE customer SET c_data = noted WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_number;
        shown_data := left(noted, 200);
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer_number, in_c_d, in_c_w, in_d, in_w, CURRENT_TIMESTAMP, in_amount,
            warehouse_name || '    ' || district_name);
END
$procedure$

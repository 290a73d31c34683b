-- Clause 2.5. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE enter_payment
    @w int, @d int, @c_w int, @c_d int, @c int, @last varchar(16), @amount decimal(6, 2)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @before_middle int, @w_name varchar(10), @d_name varchar(10), @shown_w varchar(100), @shown_d varchar(100);
    DECLARE @last_name varchar(16), @shown_customer varchar(255), @credit char(2), @balance decimal(12, 2), @noted varchar(600);
    BEGIN TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + @amount, @w_name = w_name,
            @shown_w = CONCAT(w_street_1, '|', w_street_2, '|', w_city, '|', w_state, '|', w_zip)
        WHERE w_id = @w;
    UPDATE district SET d_ytd = d_ytd + @amount, @d_name = d_name,
            @shown_d = CONCAT(d_street_1, '|', d_street_2, '|', d_city, '|', d_state, '|', d_zip)
        WHERE d_w_id = @w AND d_id = @d;
    IF @c = 0
    BEGIN
        SELECT @before_middle = (COUNT(*) + 1) / 2 - 1 FROM customer
            WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @last;
        SELECT @c = c_id FROM customer WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @last
            ORDER BY c_first OFFSET @before_middle ROWS FETCH NEXT 1 ROWS ONLY;
    END;
    UPDATE customer SET c_balance = c_balance - @amount, c_ytd_payment = c_ytd_payment + @amount,
            c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
    SELECT @last_name = c_last, @shown_customer = CONCAT(c_first, '|', c_middle, '|', c_street_1, '|', c_street_2, '|', c_city,
            '|', c_state, '|', c_zip, '|', c_phone, '|', c_since, '|', c_credit_lim, '|', c_discount),
        @credit = c_credit, @balance = c_balance
        FROM customer WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
    IF @credit = 'BC'
    BEGIN
        SELECT @noted = LEFT(CONCAT(@c, ' ', @c_d, ' ', @c_w, ' ', @d, ' ', @w, ' ', @amount, '|', c_data), 500)
            FROM customer WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
        UPDATE customer SET c_data = @noted WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
    END;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (@c, @c_d, @c_w, @d, @w, CURRENT_TIMESTAMP, @amount, CONCAT(@w_name, '    ', @d_name));
    COMMIT TRANSACTION;
    SELECT @c AS customer_number, @shown_w AS shown_warehouse, @shown_d AS shown_district, @last_name AS last_name,
        @shown_customer AS shown_customer, @credit AS credit, @balance AS balance, LEFT(@noted, 200) AS shown_data;
END

-- Clause 2.6. Without a number the customer is the one in the middle of those of the name.
CREATE PROCEDURE order_status
    @c_w int, @c_d int, @c int, @last varchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @before_middle int, @number int, @carrier int, @entered_at datetime2(6), @balance decimal(12, 2);
    DECLARE @first_name varchar(16), @middle_name char(2), @last_name varchar(16), @shown varchar(max);
    BEGIN TRANSACTION;
    IF @c = 0
    BEGIN
        SELECT @before_middle = (COUNT(*) + 1) / 2 - 1 FROM customer
            WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @last;
        SELECT @c = c_id FROM customer WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @last
            ORDER BY c_first OFFSET @before_middle ROWS FETCH NEXT 1 ROWS ONLY;
    END;
    SELECT @balance = c_balance, @first_name = c_first, @middle_name = c_middle, @last_name = c_last
        FROM customer WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
    SELECT @number = o_id, @entered_at = o_entry_d, @carrier = o_carrier_id FROM orders
        WHERE o_w_id = @c_w AND o_d_id = @c_d AND o_id = (SELECT MAX(o_id) FROM orders
            WHERE o_w_id = @c_w AND o_d_id = @c_d AND o_c_id = @c);
    SELECT @shown = STRING_AGG(CAST(CONCAT(ol_i_id, '|', ol_supply_w_id, '|', ol_quantity, '|', ol_amount, '|', ol_delivery_d)
            AS varchar(max)), ';')
        FROM order_line WHERE ol_w_id = @c_w AND ol_d_id = @c_d AND ol_o_id = @number;
    COMMIT TRANSACTION;
    SELECT @c AS customer_number, @balance AS balance, @first_name AS first_name, @middle_name AS middle_name,
        @last_name AS last_name, @number AS order_number, @entered_at AS entered_at, @carrier AS carrier,
        CAST(CONCAT(@shown, ';') AS varchar(1200)) AS shown_lines;
END

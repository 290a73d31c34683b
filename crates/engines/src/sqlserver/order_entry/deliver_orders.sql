-- Clause 2.7, all ten districts in one transaction.
CREATE PROCEDURE deliver_orders
    @w int, @carrier int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @district int = 1, @oldest int, @c int, @known_carrier int, @total decimal(12, 2);
    DECLARE @delivered int = 0, @skipped int = 0, @shown varchar(200) = '';
    BEGIN TRANSACTION;
    WHILE @district <= 10
    BEGIN
        SET @oldest = NULL;
        SELECT TOP (1) @oldest = no_o_id FROM new_order WITH (UPDLOCK)
            WHERE no_w_id = @w AND no_d_id = @district ORDER BY no_o_id;
        IF @oldest IS NULL
            SET @skipped = @skipped + 1;
        ELSE
        BEGIN
            SELECT @c = o_c_id, @known_carrier = o_carrier_id FROM orders WITH (UPDLOCK)
                WHERE o_w_id = @w AND o_d_id = @district AND o_id = @oldest;
            IF @known_carrier IS NOT NULL
            BEGIN
                THROW 53960, 'another Delivery has delivered the order meanwhile', 1;
            END;
            DELETE FROM new_order WHERE no_w_id = @w AND no_d_id = @district AND no_o_id = @oldest;
            UPDATE orders SET o_carrier_id = @carrier WHERE o_w_id = @w AND o_d_id = @district AND o_id = @oldest;
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
                WHERE ol_w_id = @w AND ol_d_id = @district AND ol_o_id = @oldest;
            SELECT @total = SUM(ol_amount) FROM order_line
                WHERE ol_w_id = @w AND ol_d_id = @district AND ol_o_id = @oldest;
            UPDATE customer SET c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = @w AND c_d_id = @district AND c_id = @c;
            SET @delivered = @delivered + 1;
            SET @shown = CONCAT(@shown, @district, '|', @oldest, ';');
        END;
        SET @district = @district + 1;
    END;
    COMMIT TRANSACTION;
    SELECT @delivered AS delivered, @skipped AS skipped, @shown AS shown_orders;
END

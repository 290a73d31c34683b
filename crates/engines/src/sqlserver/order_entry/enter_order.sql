-- Clause 2.4. A line is 13 characters: six digits of the item, five of its warehouse, two of the pieces.
CREATE PROCEDURE enter_order
    @w int, @d int, @c int, @count int, @all_local int, @lines varchar(200)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @is_entered int = 1, @number int, @line int = 1, @item int, @supply int, @quantity int, @left int;
    DECLARE @last_name varchar(16), @credit char(2), @discount decimal(4, 4), @w_tax decimal(4, 4), @d_tax decimal(4, 4);
    DECLARE @price decimal(5, 2), @amount decimal(6, 2), @amounts decimal(12, 2) = 0, @total decimal(12, 2);
    DECLARE @item_name varchar(24), @item_known varchar(50), @stock_known varchar(50), @info char(24);
    DECLARE @shown varchar(1200) = '', @entered_at datetime2(6);
    BEGIN TRANSACTION;
    UPDATE district SET @number = d_next_o_id, @d_tax = d_tax, d_next_o_id = d_next_o_id + 1
        WHERE d_w_id = @w AND d_id = @d;
    SELECT @w_tax = w_tax FROM warehouse WHERE w_id = @w;
    SELECT @discount = c_discount, @last_name = c_last, @credit = c_credit
        FROM customer WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c;
    SET @entered_at = CURRENT_TIMESTAMP;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (@number, @d, @w, @c, @entered_at, NULL, @count, @all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (@number, @d, @w);
    WHILE @line <= @count
    BEGIN
        SET @item = CAST(SUBSTRING(@lines, @line * 13 - 12, 6) AS int);
        SET @supply = CAST(SUBSTRING(@lines, @line * 13 - 6, 5) AS int);
        SET @quantity = CAST(SUBSTRING(@lines, @line * 13 - 1, 2) AS int);
        SET @price = NULL;
        SELECT @price = i_price, @item_name = i_name, @item_known = i_data FROM item WHERE i_id = @item;
        IF @price IS NULL
        BEGIN
            SET @is_entered = 0;
            BREAK;
        END;
        UPDATE stock SET s_quantity = CASE WHEN s_quantity >= @quantity + 10 THEN s_quantity - @quantity
                ELSE s_quantity - @quantity + 91 END,
            @left = CASE WHEN s_quantity >= @quantity + 10 THEN s_quantity - @quantity ELSE s_quantity - @quantity + 91 END,
            s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN @supply = @w THEN 0 ELSE 1 END,
            @stock_known = s_data,
            @info = CASE @d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            WHERE s_w_id = @supply AND s_i_id = @item;
        SET @amount = @quantity * @price;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                ol_amount, ol_dist_info)
            VALUES (@number, @d, @w, @line, @item, @supply, NULL, @quantity, @amount, @info);
        SET @amounts = @amounts + @amount;
        SET @shown = CONCAT(@shown, @item_name, '|', @left, '|',
            CASE WHEN @item_known LIKE '%ORIGINAL%' AND @stock_known LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END,
            '|', @price, '|', @amount, ';');
        SET @line = @line + 1;
    END;
    IF @is_entered = 1
    BEGIN
        SET @total = ROUND(@amounts * (1 - @discount) * (1 + @w_tax + @d_tax), 2);
        COMMIT TRANSACTION;
    END
    ELSE
        ROLLBACK TRANSACTION;
    SELECT @is_entered AS is_entered, @number AS order_number, @entered_at AS entered_at, @last_name AS last_name,
        @credit AS credit, @discount AS discount, @w_tax AS tax_of_warehouse, @d_tax AS tax_of_district, @total AS total,
        @shown AS shown_lines;
END

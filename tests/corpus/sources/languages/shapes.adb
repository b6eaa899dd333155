-- Ada: subprograms nested in others, overloading, operators, a generic, a package body, an exception handler.
with Ada.Text_IO;

procedure Shapes is
   type Vector is array (1 .. 4) of Integer;

   generic
      type Item is private;
      with function Less (A, B : Item) return Boolean;
   function Greatest (A, B : Item) return Item;

   function Greatest (A, B : Item) return Item is
   begin
      if Less (A, B) then
         return B;
      end if;
      return A;
   end Greatest;

   function Below (A, B : Integer) return Boolean is (A < B);
   function Greatest_Integer is new Greatest (Integer, Below);

   package Counter is
      function Next (Step : Integer) return Integer;
      function Next return Integer;
   end Counter;

   package body Counter is
      Value : Integer := 0;

      function Next (Step : Integer) return Integer is
      begin
         Value := Value + Step;
         return Value;
      end Next;

      function Next return Integer is
      begin
         return Next (1);
      end Next;
   end Counter;

   function "+" (A, B : Vector) return Vector is
      Sum : Vector;
      procedure Add (I : Integer) is
      begin
         Sum (I) := A (I) + B (I);
      end Add;
   begin
      for I in Vector'Range loop
         Add (I);
      end loop;
      return Sum;
   end "+";

   function Checked (N : Integer) return Integer is
   begin
      return 100 / N;
   exception
      when Constraint_Error =>
         return Counter.Next;
   end Checked;

   V : constant Vector := (1, 2, 3, 4);
   W : constant Vector := V + V;
begin
   Ada.Text_IO.Put_Line (Integer'Image (Greatest_Integer (W (2), Checked (Counter.Next (0)))));
end Shapes;

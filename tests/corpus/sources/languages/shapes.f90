! Fortran: a module, contained procedures, an entry point, generic names, an array expression.
module geometry
  implicit none
  interface measure
    module procedure measure_integer, measure_real
  end interface
contains
  integer function measure_integer(n)
    integer, intent(in) :: n
    measure_integer = helper(n) * 2
  contains
    integer function helper(m)
      integer, intent(in) :: m
      integer :: i
      helper = 0
      do i = 1, m
        helper = helper + i * m
      end do
    end function helper
  end function measure_integer

  real function measure_real(x)
    real, intent(in) :: x
    measure_real = sqrt(x) + 1.0
  end function measure_real

  subroutine fill(values, n)
    integer, intent(in) :: n
    real, intent(out) :: values(n)
    integer :: i
    do i = 1, n
      values(i) = measure(real(i))
    end do
    values = values * 2.0
  end subroutine fill
end module geometry

subroutine first_way(n, result)
  integer :: n, result
  result = n + 1
  result = result * 3
  return
entry second_way(n, result)
  result = n - 1
end subroutine first_way

program shapes
  use geometry
  implicit none
  real :: values(8)
  integer :: a, b
  call fill(values, 8)
  call first_way(measure(3), a)
  call second_way(a, b)
  print *, sum(values), a, b, outer(2)
contains
  recursive integer function outer(n) result(r)
    integer, intent(in) :: n
    r = n
    if (n > 0) r = r + outer(n - 1)
  end function outer
end program shapes

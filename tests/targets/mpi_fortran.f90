! SPDX-License-Identifier: Apache-2.0
! Calls of MPI from Fortran. The device is started by the C function of mpi_start.c.
program fortran_calls
  use mpi
  implicit none
  integer :: ierr, me, size, status(MPI_STATUS_SIZE)
  double precision :: data(10)
  interface
    subroutine start_device() bind(c)
    end subroutine
  end interface
  call start_device()
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  data = me
  call MPI_Allreduce(MPI_IN_PLACE, data, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (me == 0) call MPI_Send(data, 10, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, ierr)
  if (me == 1) call MPI_Recv(data, 10, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, status, ierr)
  if (me == 0) print *, data(1)
  call MPI_Finalize(ierr)
end program

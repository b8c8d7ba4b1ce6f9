/** Milliseconds of a clock that all processes of this machine share, which is what lets two of them be compared. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

const NAMED =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ';
const REAL_TIME = [
  'RTMAX',
  ...Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`),
  'RTMIN',
  ...Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`),
];

/** The signals that a container of a Linux pod may ask to be stopped with, sorted. */
export const LINUX_SIGNALS: readonly string[] = [...NAMED.split(' '), ...REAL_TIME]
  .map((name) => `SIG${name}`)
  .sort((a, b) => (a < b ? -1 : 1));

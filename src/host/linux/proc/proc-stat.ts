/** Fields of /proc/PID/stat. */
export interface ProcStat {
  /** One letter: `R` running, `S` sleeping, `Z` zombie, `X` dead, … */
  readonly state: string;
  /** The process group. */
  readonly group: number;
  /** Clock ticks since boot. */
  readonly startTime: number;
}

/** Parses /proc/PID/stat (proc_pid_stat(5)); `undefined` when the text is malformed. */
export function parseProcStat(text: string): ProcStat | undefined {
  // The second field is the program's name in parentheses; the name itself may have spaces and parentheses.
  const afterName = text.slice(text.lastIndexOf(')') + 1).trim();
  const fields = afterName.split(' ');
  const [state, group, startTime] = [fields[3 - 3], Number(fields[5 - 3]), Number(fields[22 - 3])];
  return state && Number.isSafeInteger(startTime) ? { state, group, startTime } : undefined;
}

/** What /proc/PID/stat tells of a process. */
export interface ProcStat {
  /** One letter: `R` running, `S` sleeping, `Z` zombie, `X` dead, … */
  readonly state: string;
  /** Of processes: signals go to a whole one. */
  readonly group: number;
  /** Clock ticks since boot. */
  readonly startTime: number;
}

/** Reads /proc/PID/stat (proc_pid_stat(5)); `undefined` when the text does not have its shape. */
export function parseProcStat(text: string): ProcStat | undefined {
  // The second field is the program's name in parentheses, and the name itself may hold spaces and parentheses.
  const afterName = text.slice(text.lastIndexOf(')') + 1).trim();
  const fields = afterName.split(' ');
  const [state, group, startTime] = [fields[3 - 3], Number(fields[5 - 3]), Number(fields[22 - 3])];
  return state && Number.isSafeInteger(startTime) ? { state, group, startTime } : undefined;
}

/** CPU numbers of a list such as `0-2,7`, in order; what is wrong with the text is a `CpuSetError`. */
export function parseCpuSet(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const range of text === '' ? [] : text.split(',')) {
    const dash = range.indexOf('-');
    const first = parseCpu(dash < 0 ? range : range.slice(0, dash));
    const last = dash < 0 ? first : parseCpu(range.slice(dash + 1));
    if (first > last) throw new CpuSetError(`invalid range ${JSON.stringify(range)} (${first} > ${last})`);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

/** What is wrong with a list of CPUs, in Go's words. */
export function cpuSetError(text: string): string | undefined {
  try {
    parseCpuSet(text);
    return undefined;
  } catch (error) {
    if (error instanceof CpuSetError) return error.message;
    throw error;
  }
}

export class CpuSetError extends Error {
  override readonly name = 'CpuSetError';
}

/** No machine has more; a range up to it is still quick to list. */
const MAX_CPU = 65_535;

function parseCpu(text: string): number {
  if (!/^[-+]?[0-9]+$/.test(text))
    throw new CpuSetError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  const cpu = Number(text);
  if (cpu > MAX_CPU) throw new CpuSetError(`strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`);
  return cpu;
}

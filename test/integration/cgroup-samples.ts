import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** What the kernel says of one cgroup at one moment. */
export interface CgroupSample {
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly workingSetBytes: number;
}

/** The figures of cgroups over time, read from their files beside the agent under test. */
export interface CgroupSamples {
  /** Whether all of them are known for the time between two moments and a second beyond. */
  cover(fromMs: number, toMs: number): boolean;
  /** The cores in use between two moments, at least and at most: a moment of the API has full seconds only. */
  cores(cgroup: string, fromMs: number, toMs: number): Range;
  /** The working set between two moments, at least and at most. */
  workingSet(cgroup: string, fromMs: number, toMs: number): Range;
  stop(): Promise<void>;
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

const ROOT = '/sys/fs/cgroup';
const SAMPLE_EVERY_MS = 200;
const SECOND_MS = 1000;

/** The cgroup of the only process whose command line contains the text: `/kubepods/…`. */
export function cgroupOfCommand(text: string): string {
  const found = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(text));
  const cgroups = new Set(found.map(cgroupOf));
  const [cgroup] = cgroups;
  if (cgroup === undefined || cgroups.size > 1) throw new Error(`${cgroups.size} cgroups have a process ${text}`);
  return cgroup;
}

/** Samples the cgroups, by names that the caller chooses, until it is stopped. */
export function sampleCgroups(cgroups: Readonly<Record<string, string>>): CgroupSamples {
  const end = new AbortController();
  const samples = new Map<string, CgroupSample[]>(Object.keys(cgroups).map((name) => [name, []]));
  const done = (async () => {
    while (!end.signal.aborted) {
      for (const [name, cgroup] of Object.entries(cgroups)) samples.get(name)?.push(readSample(cgroup));
      await delay(SAMPLE_EVERY_MS);
    }
  })();
  const of = (name: string): readonly CgroupSample[] => samples.get(name) ?? [];
  return {
    cover(fromMs, toMs) {
      return Object.keys(cgroups).every((name) => {
        const [first, last] = [of(name).at(0), of(name).at(-1)];
        return first !== undefined && first.atMs <= fromMs && (last?.atMs ?? 0) >= toMs + SECOND_MS;
      });
    },
    cores(name, fromMs, toMs) {
      const rates = [0, 0.25, 0.5, 0.75, 1].map((shift) => {
        const [from, to] = [fromMs + shift * SECOND_MS, toMs + shift * SECOND_MS];
        return ((cpuAt(of(name), to) - cpuAt(of(name), from)) / (to - from)) * SECOND_MS;
      });
      return rangeOf(rates);
    },
    workingSet(name, fromMs, toMs) {
      const within = of(name).filter(({ atMs }) => atMs >= fromMs && atMs <= toMs + SECOND_MS);
      return rangeOf(within.map(({ workingSetBytes }) => workingSetBytes));
    },
    async stop() {
      end.abort();
      await done;
    },
  };
}

function rangeOf(values: readonly number[]): Range {
  if (values.length === 0) throw new Error('no sample is of that time');
  return { least: Math.min(...values), most: Math.max(...values) };
}

/** Between two samples the usage is taken to be even. */
function cpuAt(samples: readonly CgroupSample[], atMs: number): number {
  const after = samples.find((sample) => sample.atMs >= atMs);
  const before = samples.findLast((sample) => sample.atMs <= atMs);
  if (!before || !after) throw new Error(`no sample is of ${new Date(atMs).toISOString()}`);
  if (before === after) return before.cpuSeconds;
  const share = (atMs - before.atMs) / (after.atMs - before.atMs);
  return before.cpuSeconds + share * (after.cpuSeconds - before.cpuSeconds);
}

function readSample(cgroup: string): CgroupSample {
  const atMs = Date.now();
  if (existsSync(join(ROOT, 'cgroup.controllers'))) {
    const file = (name: string): string => readFileSync(join(ROOT, cgroup, name), 'utf8');
    const cpuSeconds = fieldOf(file('cpu.stat'), 'usage_usec') / 1e6;
    return { atMs, cpuSeconds, workingSetBytes: memoryCurrent(cgroup) - fieldOf(file('memory.stat'), 'inactive_file') };
  }
  const file = (controller: string, name: string): string => readFileSync(join(ROOT, controller, cgroup, name), 'utf8');
  const inactive = fieldOf(file('memory', 'memory.stat'), 'total_inactive_file');
  return {
    atMs,
    cpuSeconds: Number(file('cpuacct', 'cpuacct.usage')) / 1e9,
    workingSetBytes: Number(file('memory', 'memory.usage_in_bytes')) - inactive,
  };
}

/** The root cgroup of version 2 has no `memory.current`: the kernel accounts the machine in /proc/meminfo. */
function memoryCurrent(cgroup: string): number {
  const path = join(ROOT, cgroup, 'memory.current');
  if (existsSync(path)) return Number(readFileSync(path, 'utf8'));
  const kib = (field: string): number => fieldOf(readFileSync('/proc/meminfo', 'utf8'), `${field}:`);
  return (kib('MemTotal') - kib('MemFree')) * 1024;
}

function fieldOf(text: string, field: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${field} `));
  return Number(line?.split(/ +/)[1]);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // exited meanwhile
  }
}

/** The same in every hierarchy. */
function cgroupOf(pid: string): string {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  const line = lines.find((each) => /^\d+:memory:/.test(each)) ?? lines.find((each) => each.startsWith('0::')) ?? '';
  return line.split(':').slice(2).join(':');
}

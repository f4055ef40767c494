import { expectedSkipReason } from './expected-skips.ts';
import type { SpecResult } from './spec-report.ts';

/** Results of one run, for the specs it selected. */
export interface RunResult {
  readonly name: string;
  readonly specs: readonly SpecResult[];
}

/** Prints the results. Returns whether every spec passed or was expected to be skipped. */
export function printSummary(runs: readonly RunResult[], print: (line: string) => void): boolean {
  print(row('group', 'passed', 'failed', 'skipped', 'seconds'));
  for (const { name, specs } of runs) {
    for (const [group, own] of Map.groupBy(specs, (spec) => spec.group))
      print(row(`${group} (${name})`, ...tally(own)));
  }
  const specs = runs.flatMap((run) => run.specs);
  print(row('all', ...tally(specs)));
  for (const { group, name, attempts } of specs.filter(({ state, attempts }) => state === 'passed' && attempts > 1))
    print(`passed at attempt ${attempts}: ${group} ${name}`);
  const skipped = specs.filter(({ state }) => state === 'skipped');
  for (const [reason, own] of Map.groupBy(skipped, expectedSkipReason)) {
    if (reason !== undefined) print(`skipped: ${own.length}, ${reason}`);
  }
  const unexpected = skipped.filter((spec) => expectedSkipReason(spec) === undefined);
  for (const { group, name, message } of unexpected)
    print(`\nSKIPPED for no known reason: ${group} ${name}\n${message}`);
  const failed = specs.filter(({ state }) => state === 'failed');
  for (const { group, name, message } of failed) print(`\nFAILED: ${group} ${name}\n${message}`);
  return failed.length === 0 && unexpected.length === 0 && runs.every((run) => run.specs.length > 0);
}

function tally(specs: readonly SpecResult[]): string[] {
  const count = (state: SpecResult['state']): number => specs.filter((spec) => spec.state === state).length;
  const seconds = specs.reduce((sum, spec) => sum + spec.seconds, 0);
  return [count('passed'), count('failed'), count('skipped'), Math.round(seconds)].map(String);
}

function row(group: string, ...numbers: readonly string[]): string {
  return group.padEnd(48) + numbers.map((number) => number.padStart(9)).join('');
}

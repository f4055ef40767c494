import { countStates } from './comparison.ts';
import type { SpecResult } from './spec-report.ts';

const MESSAGE_LINES = 4;

/** Prints the results of a run. Returns how many specs failed; a run without results counts as one. */
export function printResults(
  title: string,
  specs: readonly SpecResult[],
  { seconds, logs }: { readonly seconds: number; readonly logs: string },
): number {
  const { passed, failed, skipped } = countStates(specs);
  console.log(`${title}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s; logs in ${logs}`);
  for (const { name, state, message } of specs)
    if (state === 'failed') console.log(`\nFAILED: ${name}\n${message.split('\n').slice(0, MESSAGE_LINES).join('\n')}`);
  return specs.length === 0 ? 1 : failed;
}

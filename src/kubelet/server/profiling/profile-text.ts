import type { SampledStacks } from '../../../host/profiler.ts';

/** For people: one paragraph for each stack, the largest first. */
export function profileText(title: string, { frames, stacks }: SampledStacks): string {
  const total = stacks.reduce((sum, { amount }) => sum + amount, 0);
  const samples = stacks.reduce((sum, stack) => sum + stack.samples, 0);
  const parts = stacks
    .toSorted((a, b) => b.amount - a.amount)
    .map((stack) => {
      const lines = stack.frames.map((index) => {
        const { functionName = '', file = '', line = 0 } = frames[index] ?? {};
        return `#\t${functionName}\t${file}:${line}\n`;
      });
      return `${stack.samples}: ${Math.round(stack.amount)}\n${lines.join('')}`;
    });
  return `${title}: ${samples}: ${Math.round(total)}\n${parts.join('\n')}`;
}

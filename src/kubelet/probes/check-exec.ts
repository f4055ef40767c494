import { Buffer } from 'node:buffer';
import type { ExecAction } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { expandEnv } from '../../base/env-expand.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { hasCode } from '../../cri/cri-error.ts';
import { MAX_OUTPUT_BYTES, type ProbeHandler } from './probe-handler.ts';

/** Runs a command in the container; its exit code decides. */
export const checkExec: ProbeHandler<ExecAction> = async (action, { container, containerId }, { exec }, limit) => {
  const variables = new Map(container.env?.map(({ name, value }) => [name, value ?? '']));
  const command = (action.command ?? []).map((word) => expandEnv(word, (name) => variables.get(name)));
  try {
    const { exitCode, stdout, stderr } = await exec(containerId, command, limit.ms, limit.signal);
    const output = Buffer.concat([stdout, stderr]).toString('utf8', 0, MAX_OUTPUT_BYTES);
    return { kind: exitCode === 0 ? 'success' : 'failure', output };
  } catch (error) {
    if (!limit.isExceeded() && !hasCode(error, 'DeadlineExceeded')) throw error;
    const output = `command timed out: ${goQuote(command.join(' '))} timed out after ${formatDurationMs(limit.ms)}`;
    return { kind: 'failure', output };
  }
};

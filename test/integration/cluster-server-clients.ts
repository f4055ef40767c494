import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { ControlPlane } from './cluster-fixture.ts';
import { end } from './daemon-fixture.ts';

/** The output of a command when it ends. */
export async function commandResult(child: ChildProcessWithoutNullStreams) {
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code };
}

/** Uses the local address of a forwarded pod port. Returns what kubectl has logged. */
export async function withForwardedPort(
  plane: ControlPlane,
  {
    pod,
    port,
    env = {},
    flags = [],
  }: {
    readonly pod: string;
    readonly port: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly flags?: readonly string[];
  },
  use: (url: string) => Promise<void>,
): Promise<string> {
  const forward = plane.startKubectl(['port-forward', ...flags, pod, `:${port}`], env);
  const logged = text(forward.stderr);
  try {
    await use(`http://127.0.0.1:${await forwardedPort(forward)}/`);
  } finally {
    await end(forward, 'SIGTERM');
  }
  return logged;
}

async function forwardedPort({ stdout }: ChildProcessWithoutNullStreams): Promise<string> {
  let said = '';
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    const port = /127\.0\.0\.1:(\d+) ->/.exec(said)?.[1];
    if (port !== undefined) return port;
  }
  throw new Error(`kubectl forwards nothing: ${said}`);
}

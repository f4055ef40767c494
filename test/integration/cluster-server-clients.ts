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

/** Returns the local address of a forwarded pod port, for as long as it is used. */
export async function withForwardedPort(
  plane: ControlPlane,
  {
    pod,
    port,
    env = {},
  }: { readonly pod: string; readonly port: number; readonly env?: Readonly<Record<string, string>> },
  use: (url: string) => Promise<void>,
): Promise<void> {
  const forward = plane.startKubectl(['port-forward', pod, `:${port}`], env);
  try {
    await use(`http://127.0.0.1:${await forwardedPort(forward)}/`);
  } finally {
    await end(forward, 'SIGTERM');
  }
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

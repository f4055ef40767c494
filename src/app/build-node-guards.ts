import type { Part } from '../base/supervise.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { watchOomKills } from '../kubelet/oom/oom-watcher.ts';
import { NodeShutdown, type ShutdownPods } from '../kubelet/shutdown/node-shutdown.ts';
import type { AgentParts } from './agent.ts';

/** What watches over the machine as a whole: its shutdown, and memory that runs out. */
export interface NodeGuards {
  readonly shutdown: NodeShutdown;
  parts(pods: ShutdownPods): readonly Part[];
}

export function buildNodeGuards({ host, log, settings }: AgentParts, events: NodeEvents): NodeGuards {
  const { loginManager, kernelLog, fs, clock } = host;
  const shutdown = new NodeShutdown(settings.shutdown, settings.rootDir, { loginManager, fs, clock, log, events });
  return {
    shutdown,
    parts: (pods) => [
      { name: 'node shutdown', run: (signal) => shutdown.run(pods, signal) },
      { name: 'OOM watcher', run: (signal) => watchOomKills({ kernelLog, events, log }, signal) },
    ],
  };
}

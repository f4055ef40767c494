import assert from 'node:assert/strict';
import type { Agent } from '../../app/agent.ts';
import type { AgentFactory } from '../../app/start-local-agent.ts';
import { ScriptedView } from '../../kubelet/local-api/fake/scripted-view.ts';
import { ScriptedStats } from '../../kubelet/stats/fake/scripted-stats.ts';

/** An agent that does nothing by itself, and the runtime below it. */
export class ScriptedAgent extends ScriptedView implements Agent {
  readonly stats = new ScriptedStats();
  readonly readings: Agent['readings'] = {
    observed: () => undefined,
    mirrorPods: () => 0,
    cpuUsage: () => undefined,
    pullRecords: async () => ({ intents: 0, pulled: 0 }),
    claimDrivers: () => undefined,
    volumes: () => ({ wanted: new Map(), ready: new Map() }),
  };
  /** What happened, in order. */
  readonly happened: string[] = [];
  /** Ends the agent's work from within. */
  readonly failure = Promise.withResolvers<never>();
  /** Resolves when the agent works. */
  readonly working = Promise.withResolvers<void>();
  /** Resolves the pods' end; a test that wants them to end at once resolves it beforehand. */
  readonly drained = Promise.withResolvers<void>();

  /** How often its runtime is found to be taking something back. */
  halfMade = 0;
  /** Whether its runtime ends without a trace. */
  isClean = true;

  constructor() {
    super();
    this.failure.promise.catch(() => {});
  }

  run(signal: AbortSignal): Promise<void> {
    this.happened.push('run');
    this.working.resolve();
    const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return Promise.race([this.failure.promise, ended.then(() => void this.happened.push('agent ended'))]);
  }

  async drain(): Promise<void> {
    this.happened.push('drain');
    await this.drained.promise;
    for (const { pod } of this.pods()) this.remove(pod.metadata.uid);
  }

  async shutDown(): Promise<void> {
    this.happened.push('shutdown');
  }

  syncLoopUnhealthyReason(): undefined {}

  devicePluginUnhealthyReason(): undefined {}

  override async stopPod(uid: string, graceSeconds: number | undefined): Promise<void> {
    await super.stopPod(uid, graceSeconds);
    if (this.pods().length === 0) this.drained.resolve();
  }

  wiring(more: Partial<AgentFactory> = {}): AgentFactory {
    return {
      startRuntime: async () => {
        this.happened.push('runtime started');
        const stop = async (): Promise<boolean> => this.happened.push('runtime stopped') > 0 && this.isClean;
        const connect = (): never => assert.fail('unexpected connection');
        return { connect, prepare: async () => {}, isEmpty: async () => this.halfMade-- <= 0, stop };
      },
      build: async () => ({
        agent: this,
        runtime: { exec: async () => ({ url: 'http://127.0.0.1:9/exec/token' }) },
        close: () => void this.happened.push('connection closed'),
      }),
      ...more,
    };
  }
}

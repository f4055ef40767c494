import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { AgentProcess } from './agent-process.ts';
import type { PlannedKill } from './inject-fault.ts';

/** The time after which a supervisor restarts an agent that failed to start. */
const RESTART_MS = 1_000;

export interface SupervisorDeps {
  readonly clock: VirtualClock;
  /** Creates the process with this number, counted from one, and does not start it. */
  readonly newProcess: (number: number) => AgentProcess;
  /** An agent that had started has ended without being killed. */
  readonly onExit: (error: unknown) => void;
  readonly note: (line: string) => void;
}

/** Runs agent processes one after the other, and kills them. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  #agentProcess: AgentProcess | undefined;
  #processCount = 0;
  #startedAt = 0;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** Absent between two processes. */
  get agentProcess(): AgentProcess | undefined {
    return this.#agentProcess;
  }

  get processCount(): number {
    return this.#processCount;
  }

  /** When the current process, or the last one, was started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  start(): void {
    const { clock, newProcess } = this.#deps;
    this.#processCount++;
    this.#startedAt = clock.monotonic();
    this.#agentProcess = newProcess(this.#processCount);
    this.#agentProcess.start();
  }

  /** Kills the current process, now or at one of its next calls; the next one starts `downMs` later. */
  kill({ calls, when, downMs }: Pick<PlannedKill, 'calls' | 'when' | 'downMs'>): void {
    const killed = this.#agentProcess;
    const onKill = (): void => {
      if (this.#agentProcess !== killed) return;
      this.#deps.note('the agent is killed');
      killed?.kill();
      this.#startAfter(downMs);
    };
    if (!killed) return;
    if (calls === 0) onKill();
    else killed.gate.killAtCall({ calls, when, onKill });
  }

  killNow(downMs: number): void {
    this.kill({ calls: 0, when: 'before', downMs });
  }

  /** A kill that is planned for a later call does not happen. */
  cancelKill(): void {
    this.#agentProcess?.gate.killAtCall({ calls: Number.POSITIVE_INFINITY, when: 'before', onKill: () => {} });
  }

  /** The current process has ended without being killed. */
  ended(error: unknown): void {
    const wasStarting = this.#agentProcess?.agent === undefined;
    this.#deps.note(`the agent exits: ${error}`);
    if (!wasStarting) return this.#deps.onExit(error);
    this.#agentProcess?.kill();
    this.#startAfter(RESTART_MS);
  }

  #startAfter(ms: number): void {
    this.#agentProcess = undefined;
    this.#deps.clock.schedule(ms, () => this.start());
  }
}

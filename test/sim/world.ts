import type { Effect } from '../../src/cri/fake/effects.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import { AgentProcess } from './agent-process.ts';
import type { CheckContext, Violation } from './check-context.ts';
import { ClusterSide } from './cluster-side.ts';
import { Draw } from './draw.ts';
import { endFaults, type InjectFaultDeps, injectFault, setMemory } from './inject-fault.ts';
import { StableImages } from './invariants-of-node.ts';
import { checkDelay, checkRelease } from './invariants-of-shutdown.ts';
import { checkReleased, checkWrite } from './invariants-of-writes.ts';
import { MachineSide } from './machine-side.ts';
import { Observer } from './observer.ts';
import { PendingFaults } from './pending-faults.ts';
import type { PlannedFault } from './plan-faults.ts';
import type { MachinePlan } from './plan-machine.ts';
import type { WorldPlan } from './plan-world.ts';
import { PodRecords } from './pod-records.ts';
import type { SimCluster } from './sim-cluster.ts';
import { SimDisks } from './sim-disks.ts';
import { SimLogs } from './sim-logs.ts';
import { prepareMachine } from './sim-machine.ts';
import { SimObjects } from './sim-objects.ts';
import { createSimRuntime, imageNames } from './sim-runtime.ts';
import { SimServers } from './sim-servers.ts';
import { SimManifests } from './sim-sources.ts';
import { SimUsers } from './sim-users.ts';
import { Supervisor } from './supervisor.ts';
import { notedLog, Trace } from './trace.ts';

/** The longest duration of a call that was made just before the faults end. */
const LONGEST_CALL_MS = 250_000;

/** A machine, its runtime, its users, its faults, and a sequence of agent processes. */
export class World {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  readonly trace = new Trace();
  readonly cluster: SimCluster;
  readonly context: CheckContext;
  readonly images: StableImages;
  readonly #plan: WorldPlan;
  readonly #records: PodRecords;
  readonly #manifests: SimManifests;
  readonly #servers: SimServers;
  readonly #logs: SimLogs | undefined;
  readonly #disks: SimDisks;
  readonly #machine: MachineSide | undefined;
  readonly #side: ClusterSide;
  readonly #faults = new PendingFaults((ms) => this.context.clusterState.noteMachineFault(ms));
  readonly #observer: Observer;
  readonly #end = new AbortController();
  readonly #pace: Draw;
  readonly #users: SimUsers;
  readonly #supervisor: Supervisor;
  #jumpedAt = Number.NEGATIVE_INFINITY;
  #violation: Violation | undefined;

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    this.#pace = new Draw(plan.seed, 'pace');
    this.host = createMemoryHost({ seed: plan.seed });
    const { clock } = this.host;
    this.runtime = createSimRuntime({
      host: this.host,
      onHook: (...hook) => this.#observer.invariants.hook(...hook),
      onEffect: (effect) => {
        this.#serve(effect);
        this.#observer.effect(effect);
      },
    });
    this.#servers = new SimServers(this.host.network, clock);
    this.#logs = plan.hasLogs ? new SimLogs(this.host.fs, clock) : undefined;
    this.#disks = new SimDisks({
      host: this.host,
      onCall: (call) => this.#observer.diskCall(call),
      onBrokenRule: (message) => this.fail(34, message),
    });
    this.#records = new PodRecords(() => clock.monotonic());
    const isAlone = !plan.sources.includes('api');
    this.#manifests = new SimManifests(this.host.fs, isAlone ? 'manifests' : 'none');
    this.#side = new ClusterSide({
      seed: plan.seed,
      clock,
      faults: this.#faults,
      wrote: (write) => {
        checkWrite(write, this.context);
        this.#run(checkReleased(write, this.context, this.host.mounts));
      },
      staticOf: (key) => this.#manifests.get(key),
    });
    this.#machine = plan.machine && this.#newMachine(plan, plan.machine);
    const { clusterState, server, users } = this.#side;
    this.cluster = users;
    const objects = new SimObjects(isAlone ? undefined : server.direct, this.host.fs, () => clock.monotonic());
    this.context = {
      records: this.#records,
      objects,
      disks: this.#disks,
      machine: this.#machine,
      clusterState,
      quietAt: plan.faults.length === 0 ? 0 : plan.times.calm + LONGEST_CALL_MS,
      runtime: this.runtime,
      now: () => clock.monotonic(),
      wallMs: () => clock.now(),
      jumpedAt: () => this.#jumpedAt,
      processNumber: () => this.processCount,
      agentStartedAt: () => this.#supervisor.startedAt,
      hasLostPull: () => this.#faults.hasLostPull,
      sources: plan.sources.length,
      fail: (invariant, text) => this.fail(invariant, text),
    };
    this.#observer = new Observer(this.context, (line) => this.#note(line));
    this.images = new StableImages(
      () => imageNames(this.runtime),
      () => clock.monotonic(),
    );
    this.#users = new SimUsers({
      manifests: this.#manifests,
      cluster: users,
      objects,
      records: this.#records,
      registry: this.runtime.registry,
      applyChange: (change) => this.#side.applyChange(change),
      onApiPod: (pod) => this.#machine?.reserveClaims(pod),
      note: (line) => this.#note(line),
    });
    this.#supervisor = new Supervisor({
      clock,
      newProcess: (number) => this.#newProcess(number),
      onExit: (error) => this.fail(12, `the agent exited: ${error}`),
      note: (line) => this.#note(line),
    });
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  get logs(): SimLogs | undefined {
    return this.#logs;
  }

  get agentProcess(): AgentProcess | undefined {
    return this.#supervisor.agentProcess;
  }

  get processCount(): number {
    return this.#supervisor.processCount;
  }

  /** Only the first violation counts: later ones may be its consequences. */
  fail(invariant: number, text: string): void {
    const at = this.host.clock.monotonic();
    this.trace.add(at, `VIOLATION of invariant ${invariant}: ${text}`);
    const uid = [...this.#records.pods.keys()].find((each) => text.includes(each));
    this.#violation ??= { invariant, text, uid, at };
  }

  /** Schedules all actions and faults of the plan and starts the agent. */
  async begin(): Promise<void> {
    const { clock } = this.host;
    const { actions, faults, times } = this.#plan;
    await this.#manifests.prepare();
    await prepareMachine(this.host.fs);
    if (this.#plan.cluster) await this.#side.prepare(this.#plan.cluster, this.#end.signal);
    await this.#disks.prepare(this.#side.server.direct);
    await this.#machine?.prepare(this.#side.server.direct);
    this.#logs?.begin();
    setMemory(this.host, false);
    await this.host.fs.makeDirectory('/var/lib/fake-runtime');
    await this.host.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
    for (const action of actions) clock.schedule(action.at, () => this.#run(this.#users.act(action)));
    for (const fault of faults) clock.schedule(fault.at, () => this.#injectFault(fault));
    clock.schedule(times.calm, () => this.#endFaults());
    this.startAgent();
  }

  /** Stops the world. */
  end(): void {
    this.agentProcess?.kill();
    this.#end.abort();
  }

  startAgent(): void {
    this.#supervisor.start();
  }

  /** Removes all pods with their own grace periods. */
  removeAll(): void {
    for (const work of this.#users.removeAll()) this.#run(work);
  }

  /** Actions of users must not fail. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => this.fail(0, `the simulator failed: ${error}`));
  }

  #newProcess(number: number): AgentProcess {
    const { host, runtime } = this;
    const { seed, events } = this.#plan;
    this.#records.forgetReports();
    this.context.clusterState.agentStarted(number);
    this.#machine?.claims.agentStarted();
    const draw = new Draw(seed, `life ${number}`);
    const delay = (): number => (draw.chance(0.3) ? draw.int(1, 30_000) : 0);
    this.#note(`the agent starts (process ${number})`);
    return new AgentProcess({
      host,
      runtime,
      apiServer: this.#plan.sources.includes('api') ? this.#side.agentApi : undefined,
      disks: this.#disks,
      machine: this.#machine,
      logs: this.#logs,
      faults: this.#faults,
      pace: this.#pace,
      events,
      sourceDelaysMs: { file: delay(), api: delay() },
      seed: draw.int(1, 2 ** 30),
      log: notedLog((line) => this.#note(line)),
      onCall: (method, request) => {
        this.#logs?.called(method, request);
        this.#observer.invariants.call(method, request);
      },
      onKill: (downMs) => this.#supervisor.killNow(downMs),
      onSnapshot: (source, pods) => this.#records.report(source, pods),
      onAgentEvent: (event) => this.#observer.agentEvent(event),
      onEnd: (error) => this.#supervisor.ended(error),
    });
  }

  #injectFault(fault: PlannedFault): void {
    this.#note(`fault ${JSON.stringify({ ...fault, at: undefined })}`);
    if (fault.kind === 'jump') this.#jumpedAt = this.host.clock.monotonic();
    injectFault(fault, this.#faultDeps());
  }

  #endFaults(): void {
    this.#note('faults end');
    endFaults(this.#faultDeps());
    this.#supervisor.cancelKill();
  }

  #faultDeps(): InjectFaultDeps {
    const { host, runtime } = this;
    const { clock, fs } = host;
    const { clusterState, disks, machine } = this.context;
    const { server: apiServer } = this.#side;
    const kill: InjectFaultDeps['kill'] = (planned) => this.#supervisor.kill(planned);
    return { clock, fs, runtime, apiServer, faults: this.#faults, clusterState, disks, machine, memory: host, kill };
  }

  #newMachine(plan: WorldPlan, machine: MachinePlan): MachineSide {
    const { host, runtime } = this;
    return new MachineSide({
      seed: plan.seed,
      plan: machine,
      hasApiServer: plan.sources.includes('api'),
      host,
      runtime,
      onAllocate: (resource, ids) => this.#note(`  allocate ${resource} ${ids}`),
      onClaimCall: (call) => this.#observer.claimCall(call),
      onBrokenRule: (invariant, message) => this.fail(invariant, message),
      onReleased: (shutdown) => checkRelease(shutdown, this.context),
      onDelayed: (shutdown) => checkDelay(shutdown, this.context),
      onPowerOff: (bootMs) => {
        this.#disks.reset();
        this.#supervisor.killNow(bootMs);
      },
      note: (line) => this.#note(line),
    });
  }

  #serve(effect: Effect): void {
    if (effect.kind === 'started') {
      this.#servers.started(effect.container, this.runtime.sandboxes.get(effect.container.sandboxId)?.ip);
      this.#logs?.started(effect.container);
    }
    if (effect.kind !== 'exited') return;
    this.#servers.ended(effect.container.id);
    this.#logs?.ended(effect.container.id);
  }

  #note(line: string): void {
    this.trace.add(this.host.clock.monotonic(), line);
  }
}

import type { FileSystem } from '../../host/file-system.ts';
import { type Processes, ProcessStartError } from '../../host/processes.ts';
import type { PluginCall } from './attachment.ts';
import { HOST_PORTS_PLUGIN, type HostPort, parseHostPorts, podAddresses } from './host-ports.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';
import { hostPortScript, listArguments, ruleCount, ruleRemovalScript, sandboxRules } from './nft-table.ts';
import { NFT_MISSING, runNft } from './run-nft.ts';

export interface BuiltInDeps {
  readonly processes: Pick<Processes, 'run'>;
  readonly fs: Pick<FileSystem, 'writeFile'>;
  /** The environment of other plugins. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Returns the output of the plugin. Rejects with an `Error` whose message does not name the plugin. */
type BuiltInPlugin = (call: PluginCall, deps: BuiltInDeps, signal: AbortSignal) => Promise<string>;

/** Fails ADD and STATUS with its `error`: the network is not ready, and pods on the machine's own network run. */
export const UNAVAILABLE_PLUGIN = 'nodelet-unavailable';

/** Returns the plugin of a type that this process implements itself: no program of that name is needed. */
export function builtInPlugin(type: string): BuiltInPlugin | undefined {
  if (type === HOST_PORTS_PLUGIN) return runHostPorts;
  return type === UNAVAILABLE_PLUGIN ? runUnavailable : undefined;
}

async function runUnavailable({ command, plugin }: PluginCall): Promise<string> {
  if (command === 'ADD' || command === 'STATUS') throw new Error(String(plugin.error));
  return '';
}

async function runHostPorts(call: PluginCall, deps: BuiltInDeps, signal: AbortSignal): Promise<string> {
  switch (call.command) {
    case 'ADD':
      return addHostPorts(call, deps, signal);
    case 'DEL':
      await deleteHostPorts(call, deps, signal);
      return '';
    case 'CHECK':
      await checkHostPorts(call, deps, signal);
      return '';
    default:
      return ''; // STATUS and GC: rules do not outlive the DEL of their sandbox
  }
}

async function addHostPorts(call: PluginCall, deps: BuiltInDeps, signal: AbortSignal): Promise<string> {
  const { bridge, sandboxId, hostPorts, addresses, result } = parseCall(call);
  if (hostPorts.length > 0) {
    await nft(
      call,
      deps,
      { args: ['--file', '-'], input: hostPortScript(bridge, sandboxId, addresses, hostPorts) },
      signal,
    );
    // A client at 127.0.0.1 reaches the pod through the bridge only if the kernel routes loopback addresses there.
    const path = `/proc/sys/net/ipv4/conf/${bridge}/route_localnet`;
    if (addresses.some(({ ip }) => !ip.includes(':'))) await deps.fs.writeFile(path, '1');
    await forgetFlows(call, deps, hostPorts, signal);
  }
  return JSON.stringify(result);
}

async function deleteHostPorts(call: PluginCall, deps: BuiltInDeps, signal: AbortSignal): Promise<void> {
  const bridge = parseBridge(call);
  const rules = await listSandboxRules(call, deps, bridge, signal);
  if (rules.length === 0) return;
  await nft(call, deps, { args: ['--file', '-'], input: ruleRemovalScript(bridge, rules) }, signal);
}

async function checkHostPorts(call: PluginCall, deps: BuiltInDeps, signal: AbortSignal): Promise<void> {
  const { bridge, hostPorts, addresses } = parseCall(call);
  if (hostPorts.length === 0) return;
  const [found, expected] = [
    (await listSandboxRules(call, deps, bridge, signal)).length,
    ruleCount(addresses, hostPorts),
  ];
  if (found < expected) throw new Error(`${expected - found} of ${expected} host port rules are missing`);
}

async function listSandboxRules(call: PluginCall, deps: BuiltInDeps, bridge: string, signal: AbortSignal) {
  const listed = await nft(call, deps, { args: listArguments(bridge), mayBeMissing: true }, signal);
  return sandboxRules(listed, call.env.CNI_CONTAINERID);
}

/**
 * A UDP client that keeps sending keeps the decision of its first datagram, from before the host port existed. As with
 * portmap, failures are ignored; without the program `conntrack` such a client must pause for 30 seconds.
 */
async function forgetFlows(call: PluginCall, deps: BuiltInDeps, hostPorts: readonly HostPort[], signal: AbortSignal) {
  for (const { hostPort } of hostPorts.filter(({ protocol }) => protocol === 'udp')) {
    const args = ['--delete', '--proto', 'udp', '--orig-port-dst', `${hostPort}`];
    await deps.processes.run({ program: 'conntrack', args, env: environmentOf(call, deps) }, signal).catch((error) => {
      if (!(error instanceof ProcessStartError)) throw error;
    });
  }
}

interface NftCommand {
  readonly args: readonly string[];
  readonly input?: string;
  /** A missing table is not an error, and empty. */
  readonly mayBeMissing?: boolean;
}

async function nft(call: PluginCall, deps: BuiltInDeps, command: NftCommand, signal: AbortSignal): Promise<string> {
  const { args, input, mayBeMissing = false } = command;
  const env = environmentOf(call, deps);
  const { exitCode, stdout, stderr } = await runNft(
    deps.processes,
    { args, env, ...(input === undefined ? {} : { input }) },
    signal,
  );
  if (exitCode === 0) return stdout;
  if (mayBeMissing && stderr.includes(NFT_MISSING)) return '';
  throw new Error(`nft: ${stderr}`);
}

/** CNI's variables are those of other plugins: a later process finds a leftover nft by them. */
function environmentOf({ command, env }: PluginCall, { environment }: BuiltInDeps): Readonly<Record<string, string>> {
  return { ...environment, ...env, CNI_COMMAND: command };
}

function parseCall(call: PluginCall) {
  const { plugin, input, env } = call;
  const result = input.prevResult;
  if (!isJsonObject(result)) throw new Error('must be called as chained plugin');
  return {
    bridge: parseBridge(call),
    sandboxId: env.CNI_CONTAINERID,
    hostPorts: parseHostPorts(input.runtimeConfig ?? plugin.runtimeConfig),
    addresses: podAddresses(result, env.CNI_IFNAME),
    result,
  };
}

/** Both become parts of a script. */
const BRIDGE = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,14}$/;
const SANDBOX_ID = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/;

function parseBridge({ plugin, env }: PluginCall): string {
  const { bridge }: JsonObject = plugin;
  if (typeof bridge !== 'string' || !BRIDGE.test(bridge)) throw new Error('bridge: must name a bridge');
  if (!SANDBOX_ID.test(env.CNI_CONTAINERID))
    throw new Error(`invalid container ID ${JSON.stringify(env.CNI_CONTAINERID)}`);
  return bridge;
}

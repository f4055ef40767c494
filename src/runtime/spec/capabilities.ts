import { invalidField } from '../../cri/field-error.ts';
import type { Capability } from '../../cri/generated/runtime-v1.ts';
import type { OciCapabilities } from '../oci/oci-spec.ts';

const FIELD = 'linux.security_context.capabilities';

/** In the order of their kernel numbers. */
const NAMES =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE ' +
  'NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN ' +
  'SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE ' +
  'MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE';

export const ALL_CAPABILITIES: readonly string[] = NAMES.split(' ').map((name) => `CAP_${name}`);

const DEFAULTS: ReadonlySet<string> = new Set(
  'CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE'
    .split(' ')
    .map((name) => `CAP_${name}`),
);

/** `available`: the capabilities of this process. The result is in the kernel's order. */
export function containerCapabilities(
  requested: Capability | undefined,
  { privileged, available }: { readonly privileged: boolean; readonly available: readonly string[] },
): OciCapabilities {
  const added = parseNames(requested?.addCapabilities, `${FIELD}.add_capabilities`);
  const dropped = parseNames(requested?.dropCapabilities, `${FIELD}.drop_capabilities`);
  const ambient = parseNames(requested?.addAmbientCapabilities, `${FIELD}.add_ambient_capabilities`);
  const here = new Set(available);
  if (privileged) return capabilitySets(here, new Set());

  requireAvailable(added.names, here, `${FIELD}.add_capabilities`);
  requireAvailable(ambient.names, here, `${FIELD}.add_ambient_capabilities`);
  // ALL is applied first on either side, so that single names can still be removed from it or added to it.
  let given = DEFAULTS.intersection(here);
  if (added.all) given = here;
  if (dropped.all) given = new Set();
  const ambientSet = (ambient.all ? here : ambient.names).difference(dropped.names);
  return capabilitySets(given.union(added.names).difference(dropped.names).union(ambientSet), ambientSet);
}

/** Converts a mask of /proc/PID/status (`CapBnd: 000001fffeffffff`) to names; unknown bits are ignored. */
export function capabilitiesFromMask(hex: string): string[] {
  const mask = BigInt(`0x${hex}`);
  return ALL_CAPABILITIES.filter((_, number) => (mask >> BigInt(number)) & 1n);
}

function capabilitySets(given: ReadonlySet<string>, ambient: ReadonlySet<string>): OciCapabilities {
  const list = inOrder(given);
  const common = { bounding: list, effective: list, permitted: list };
  // The kernel keeps a capability ambient only while it is inheritable too.
  return ambient.size === 0 ? common : { ...common, inheritable: inOrder(ambient), ambient: inOrder(ambient) };
}

function inOrder(names: ReadonlySet<string>): string[] {
  return ALL_CAPABILITIES.filter((name) => names.has(name));
}

function parseNames(names: readonly string[] = [], field: string): { all: boolean; names: ReadonlySet<string> } {
  const found = new Set<string>();
  let all = false;
  for (const [index, name] of names.entries()) {
    const upper = name.toUpperCase();
    const full = upper.startsWith('CAP_') ? upper : `CAP_${upper}`;
    if (upper === 'ALL') all = true;
    else if (ALL_CAPABILITIES.includes(full)) found.add(full);
    else throw invalidField(`${field}[${index}]`, `unknown capability ${JSON.stringify(name)}`);
  }
  return { all, names: found };
}

function requireAvailable(names: ReadonlySet<string>, here: ReadonlySet<string>, field: string): void {
  const missing = inOrder(names.difference(here));
  if (missing.length > 0) throw invalidField(field, `not available on this node: ${missing.join(', ')}`);
}

/** One `iptables` call on the `nat` table. */
export type NatChange = readonly string[];

/**
 * What Debian's portmap plugin leaves after the last pod with a host port: chains that it shares between all networks
 * of the machine, and the rules that lead to them.
 */
const SHARED_CHAINS: readonly string[] = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'];

/** The bridge plugin names a pod's chain by a hash. */
const POD_CHAIN = 'CNI-[0-9a-f]{24}';

/** `saved` is what `iptables-save -t nat` prints, here and below. */
export function hasHostPortChains(saved: string): boolean {
  return chainsOf(saved).some((chain) => SHARED_CHAINS.includes(chain));
}

/**
 * Takes away what pods of a network left that are gone without a word to the plugins. For a network without pods: all
 * of its rules carry its name.
 */
export function networkRemoval(saved: string, network: string): readonly NatChange[] {
  const name = `"(dnat )?name: \\\\"${RegExp.escape(network)}\\\\" `;
  const rulesIn = (chains: string): readonly string[] =>
    rulesOf(saved).filter((rule) => new RegExp(`^-A ${chains} .*${name}`).test(rule));
  const jumps = rulesIn('(POSTROUTING|CNI-HOSTPORT-DNAT)');
  // A plugin that was killed may have made a pod's chain and not yet what leads to it.
  const halfMade = rulesIn(POD_CHAIN).map(chainOf);
  return removal(jumps, [...new Set([...jumps.map(targetOf), ...halfMade])]);
}

/**
 * Takes away the rules that hide pods of the network behind the machine's address, but those of `podCidrs`. They carry the
 * name of the network, so that each process that has the root folder knows them, also those of a crashed one.
 */
export function masqueradeRemoval(saved: string, network: string, podCidrs: readonly string[]): readonly NatChange[] {
  const owned = new RegExp(`^-A POSTROUTING -s (\\S+) .*--comment "nodelet ${RegExp.escape(network)}" -j MASQUERADE$`);
  const stale = rulesOf(saved).filter((rule) => {
    const [, cidr] = owned.exec(rule) ?? [];
    return cidr !== undefined && !podCidrs.includes(cidr);
  });
  return removal(stale, []);
}

/** Chains of pods with nothing in them and nothing that leads to them: a plugin is just making them, or was killed. */
export function emptyPodChains(saved: string): readonly string[] {
  const rules = rulesOf(saved);
  const isUsed = (chain: string): boolean => rules.some((rule) => chainOf(rule) === chain || targetOf(rule) === chain);
  return chainsOf(saved).filter((chain) => new RegExp(`^${POD_CHAIN}$`).test(chain) && !isUsed(chain));
}

/** Takes the shared chains away; does nothing while a pod of any network has a host port. */
export function hostPortChainRemoval(saved: string): readonly NatChange[] {
  const rules = rulesOf(saved);
  if (rules.some((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT '))) return [];
  const chains = chainsOf(saved).filter((chain) => SHARED_CHAINS.includes(chain));
  return removal(
    rules.filter((rule) => !rule.startsWith('-A CNI-') && chains.includes(targetOf(rule))),
    chains,
  );
}

/** The kernel keeps a chain while a rule leads to it: so first the rules, then the chains' own rules, then they. */
function removal(jumps: readonly string[], chains: readonly string[]): readonly NatChange[] {
  return [
    ...jumps.map((rule) => ['-D', ...words(rule).slice(1)]),
    ...chains.map((chain) => ['-F', chain]),
    ...chains.map((chain) => ['-X', chain]),
  ];
}

function chainsOf(saved: string): readonly string[] {
  return [...saved.matchAll(/^:(\S+) /gm)].map(([, chain]) => chain ?? '');
}

function rulesOf(saved: string): readonly string[] {
  return saved.split('\n').filter((line) => line.startsWith('-A '));
}

function chainOf(rule: string): string {
  return rule.split(' ')[1] ?? '';
}

function targetOf(rule: string): string {
  return / -j (\S+)$/.exec(rule)?.[1] ?? '';
}

/** iptables-save quotes a word with spaces and escapes quotes in it. */
function words(rule: string): readonly string[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '',
  );
}

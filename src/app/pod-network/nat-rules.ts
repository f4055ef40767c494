/** One `iptables` call on the `nat` table. */
export type NatChange = readonly string[];

/**
 * The chains that Debian's portmap plugin keeps, with the rules that jump to them, after the last pod with a host port. All
 * networks of the machine share them.
 */
const SHARED_CHAINS: readonly string[] = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'];

/** The bridge plugin names the chain of a pod by a hash. */
const POD_CHAIN = 'CNI-[0-9a-f]{24}';

/** `saved` is the output of `iptables-save -t nat`, here and below. */
export function hasHostPortChains(saved: string): boolean {
  return chainsOf(saved).some((chain) => SHARED_CHAINS.includes(chain));
}

/**
 * Removes the rules of pods that were removed without CNI DEL. Only for a network without pods: all rules with its name are
 * removed.
 */
export function networkRemoval(saved: string, network: string): readonly NatChange[] {
  const name = `"(dnat )?name: \\\\"${RegExp.escape(network)}\\\\" `;
  const rulesIn = (chains: string): readonly string[] =>
    rulesOf(saved).filter((rule) => new RegExp(`^-A ${chains} .*${name}`).test(rule));
  const jumps = rulesIn('(POSTROUTING|CNI-HOSTPORT-DNAT)');
  // A killed plugin may have created the chain of a pod, and not yet the rule that jumps to it.
  const halfMade = rulesIn(POD_CHAIN).map(chainOf);
  return removal(jumps, [...new Set([...jumps.map(targetOf), ...halfMade])]);
}

/**
 * Removes the masquerade rules of the network, except for those of `podCidrs`. The rules carry the name of the network, so
 * that a process finds those of a crashed one with the same root folder.
 */
export function masqueradeRemoval(saved: string, network: string, podCidrs: readonly string[]): readonly NatChange[] {
  const owned = new RegExp(`^-A POSTROUTING -s (\\S+) .*--comment "nodelet ${RegExp.escape(network)}" -j MASQUERADE$`);
  const stale = rulesOf(saved).filter((rule) => {
    const [, cidr] = owned.exec(rule) ?? [];
    return cidr !== undefined && !podCidrs.includes(cidr);
  });
  return removal(stale, []);
}

/** Pod chains without rules and without a rule that jumps to them: a plugin creates them just now, or was killed. */
export function emptyPodChains(saved: string): readonly string[] {
  const rules = rulesOf(saved);
  const isUsed = (chain: string): boolean => rules.some((rule) => chainOf(rule) === chain || targetOf(rule) === chain);
  return chainsOf(saved).filter((chain) => new RegExp(`^${POD_CHAIN}$`).test(chain) && !isUsed(chain));
}

/** Removes the shared chains; does nothing while a pod of any network has a host port. */
export function hostPortChainRemoval(saved: string): readonly NatChange[] {
  const rules = rulesOf(saved);
  if (rules.some((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT '))) return [];
  const chains = chainsOf(saved).filter((chain) => SHARED_CHAINS.includes(chain));
  return removal(
    rules.filter((rule) => !rule.startsWith('-A CNI-') && chains.includes(targetOf(rule))),
    chains,
  );
}

/** The kernel keeps a chain while a rule jumps to it: removes these rules first, then the rules of the chains, then the chains. */
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

/** iptables-save quotes words with spaces and escapes quotes in them. */
function words(rule: string): readonly string[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '',
  );
}

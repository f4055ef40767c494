import { assertNever } from '../../base/assert-never.ts';
import type { NatBackend } from '../../runtime/network/default-bridge.ts';

export type IptablesVariant = 'nf_tables' | 'legacy';

/** Whether a program that changes NAT rules is installed, and the kernel accepts its rules. */
export type NatProgram =
  | { readonly state: 'missing' }
  | { readonly state: 'usable' }
  /** The program's own error. */
  | { readonly state: 'failing'; readonly error: string };

export interface NatFacts {
  /** `iptables` and `iptables-save`, of either variant. */
  readonly iptables: NatProgram;
  /** `nft`, with our rules for the pod range. */
  readonly nft: NatProgram;
  /** Whether the CNI plugin portmap is installed, which maps host ports by `iptables`. */
  readonly hasPortmap: boolean;
}

export type NatChoice =
  | { readonly kind: NatBackend }
  /** Pods cannot be connected to other networks; names the packages to install. */
  | { readonly kind: 'none'; readonly error: string };

/**
 * Prefers iptables, in either variant: the rules of other programs on such a machine are in its tables too. Without portmap,
 * it is the last resort: only pods with host ports fail then, with the name of the plugin.
 */
export function chooseNatBackend({ iptables, nft, hasPortmap }: NatFacts): NatChoice {
  if (iptables.state === 'usable' && (hasPortmap || nft.state !== 'usable')) return { kind: 'iptables' };
  if (nft.state === 'usable') return { kind: 'nftables' };
  const errors = [errorOf('iptables', iptables), errorOf('nft', nft)].join(', and ');
  return { kind: 'none', error: `pods cannot have a network of their own: ${errors}; ${remedy(iptables, nft)}` };
}

function errorOf(name: string, program: NatProgram): string {
  switch (program.state) {
    case 'missing':
      return `${name} is not installed`;
    case 'failing':
      return `${name} fails (${program.error})`;
    case 'usable':
      return `${name} works`;
    default:
      return assertNever(program);
  }
}

function remedy(iptables: NatProgram, nft: NatProgram): string {
  const packages = [
    ...(nft.state === 'missing' ? ['nftables'] : []),
    ...(iptables.state === 'missing' ? ['iptables'] : []),
  ];
  if (packages.length === 0) return 'the kernel needs nf_tables with NAT';
  return `install the package ${packages.join(' or ')}`;
}

/** By the output of `iptables --version`: `iptables v1.8.9 (nf_tables)`. Versions before 1.8 have no other variant. */
export function iptablesVariant(version: string): IptablesVariant {
  return version.includes('(nf_tables)') ? 'nf_tables' : 'legacy';
}

/** The programs of one set of iptables rules. */
export interface IptablesPrograms {
  readonly change: string;
  readonly save: string;
  /** Whether the kernel may have no such rules at all, so that `save` fails. */
  readonly mayFail: boolean;
}

export interface InstalledIptables {
  /** The variant of `iptables`; `undefined` if it is missing or fails. */
  readonly variant: IptablesVariant | undefined;
  readonly hasNft: boolean;
  readonly hasLegacy: boolean;
  /** /proc/net/ip_tables_names: the tables of the legacy variant that are in use. Empty without its kernel module. */
  readonly legacyTables: string;
}

/**
 * Returns the programs of all sets that may have rules of ours: those of the other variant are from before the machine was
 * switched. The legacy programs would create the tables that they list, so that they are used only if there are tables.
 */
export function ruleSets({ variant, hasNft, hasLegacy, legacyTables }: InstalledIptables): readonly IptablesPrograms[] {
  const sets: IptablesPrograms[] = [];
  if (variant !== undefined) sets.push({ change: 'iptables', save: 'iptables-save', mayFail: false });
  if (variant !== 'nf_tables' && hasNft)
    sets.push({ change: 'iptables-nft', save: 'iptables-nft-save', mayFail: true });
  if (variant !== 'legacy' && hasLegacy && legacyTables.split('\n').includes('nat')) {
    sets.push({ change: 'iptables-legacy', save: 'iptables-legacy-save', mayFail: true });
  }
  return sets;
}

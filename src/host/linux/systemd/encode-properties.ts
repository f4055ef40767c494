import type { UnitProperties } from '../../systemd.ts';

/** The D-Bus types of the properties. */
const SIGNATURES: Readonly<Record<keyof UnitProperties, 's' | 'as' | 'b' | 't' | 'au'>> = {
  Description: 's',
  Slice: 's',
  Wants: 'as',
  DefaultDependencies: 'b',
  CollectMode: 's',
  Delegate: 'b',
  PIDs: 'au',
  CPUAccounting: 'b',
  MemoryAccounting: 'b',
  IOAccounting: 'b',
  TasksAccounting: 'b',
  CPUWeight: 't',
  CPUShares: 't',
  CPUQuotaPerSecUSec: 't',
  CPUQuotaPeriodUSec: 't',
  MemoryMax: 't',
  MemoryLimit: 't',
  TasksMax: 't',
};

/** The argument of type `a(sv)`: each value with its type. */
export function encodeProperties(properties: UnitProperties): unknown[] {
  const names = Object.keys(SIGNATURES) as (keyof UnitProperties)[];
  return names
    .filter((name) => properties[name] !== undefined)
    .map((name) => [name, [SIGNATURES[name], properties[name]]]);
}

import { goJson } from '../../base/go/go-json.ts';
import { formatNanoTime, parseNanoTime } from '../../base/rfc3339.ts';
import { HealthStatus, type DeviceHealth as ReportedHealth } from '../../plugins/generated/dra-health-v1alpha1.ts';
import { fieldsOf } from './dra-checkpoint.ts';

/** kubelet's limit of a health without an update, for devices that have no limit of their own. */
const DEFAULT_TIMEOUT_MS = 30_000;
const LONGEST_MESSAGE = 1024;
const NS_PER_MS = 1_000_000;

export interface HealthState {
  readonly health: 'Healthy' | 'Unhealthy' | 'Unknown';
  readonly message: string;
}

export interface DeviceHealth extends HealthState {
  readonly poolName: string;
  readonly deviceName: string;
  readonly updatedMs: number;
  readonly timeoutMs: number;
}

const UNKNOWN: HealthState = { health: 'Unknown', message: '' };

/** The health of devices, by driver and by `pool/device`. Immutable. */
export type HealthByDriver = ReadonlyMap<string, ReadonlyMap<string, DeviceHealth>>;

export interface HealthUpdate {
  readonly states: HealthByDriver;
  /** The devices whose health, message or timeout is new. */
  readonly changed: readonly DeviceHealth[];
}

/** Applies the report of a plugin. A device that it does not report any more is unknown after its timeout. */
export function applyHealthReport(
  before: HealthByDriver,
  driver: string,
  reported: readonly ReportedHealth[],
  nowMs: number,
): HealthUpdate {
  const known = before.get(driver) ?? new Map<string, DeviceHealth>();
  const now = new Map(reported.map((each) => toDeviceHealth(each, nowMs)).map((each) => [deviceKey(each), each]));
  const left = [...known].flatMap(([key, each]) => (now.has(key) ? [] : [[key, unlessOver(each, nowMs)] as const]));
  const devices = new Map([...now, ...left]);
  const changed = [...devices].flatMap(([key, each]) => (isSameHealth(known.get(key), each) ? [] : each));
  return { states: new Map([...before, [driver, devices]]), changed };
}

/** When the next health that is known becomes unknown without a report; `undefined` if none is known. */
export function nextExpiry(states: HealthByDriver): number | undefined {
  const known = [...states.values()].flatMap((devices) => [...devices.values()].filter(isKnown));
  return known.length === 0
    ? undefined
    : Math.min(...known.map(({ updatedMs, timeoutMs }) => updatedMs + timeoutMs)) + 1;
}

/** Forgets the health of devices whose timeout is over. */
export function expireHealth(
  before: HealthByDriver,
  nowMs: number,
): { readonly states: HealthByDriver; readonly changed: ReadonlyMap<string, readonly DeviceHealth[]> } {
  const updates = [...before].map(([driver]) => [driver, applyHealthReport(before, driver, [], nowMs)] as const);
  return {
    states: new Map(updates.map(([driver, { states }]) => [driver, states.get(driver) ?? new Map()])),
    changed: new Map(updates.map(([driver, { changed }]) => [driver, changed])),
  };
}

function isKnown({ health }: HealthState): boolean {
  return health !== 'Unknown';
}

/** The health as the status of a pod shows it. */
export function currentHealth(
  states: HealthByDriver,
  device: { readonly driver: string; readonly poolName: string; readonly deviceName: string },
  nowMs: number,
): HealthState {
  const found = states.get(device.driver)?.get(deviceKey(device));
  return found && !isOver(found, nowMs) ? found : UNKNOWN;
}

function toDeviceHealth({ device, health, healthCheckTimeoutSeconds, message }: ReportedHealth, nowMs: number) {
  return {
    poolName: device?.poolName ?? '',
    deviceName: device?.deviceName ?? '',
    health: healthText(health),
    message: shortened(message),
    updatedMs: nowMs,
    timeoutMs: healthCheckTimeoutSeconds > 0n ? Number(healthCheckTimeoutSeconds) * 1000 : DEFAULT_TIMEOUT_MS,
  };
}

function healthText(health: number): HealthState['health'] {
  if (health === HealthStatus.HEALTHY) return 'Healthy';
  return health === HealthStatus.UNHEALTHY ? 'Unhealthy' : 'Unknown';
}

/** At a byte, as kubelet; never within a character. */
function shortened(message: string): string {
  if (Buffer.byteLength(message) <= LONGEST_MESSAGE) return message;
  const { read } = new TextEncoder().encodeInto(message, new Uint8Array(LONGEST_MESSAGE - 3));
  return `${message.slice(0, read)}...`;
}

function unlessOver(device: DeviceHealth, nowMs: number): DeviceHealth {
  return device.health !== 'Unknown' && isOver(device, nowMs) ? { ...device, ...UNKNOWN, updatedMs: nowMs } : device;
}

function isOver({ updatedMs, timeoutMs }: DeviceHealth, nowMs: number): boolean {
  return nowMs - updatedMs > timeoutMs;
}

function isSameHealth(one: DeviceHealth | undefined, other: DeviceHealth): boolean {
  return one?.health === other.health && one.message === other.message && one.timeoutMs === other.timeoutMs;
}

function deviceKey({ poolName, deviceName }: Pick<DeviceHealth, 'poolName' | 'deviceName'>): string {
  return `${poolName}/${deviceName}`;
}

/** The text of kubelet's `dra_health_state`. */
export function encodeHealth(states: HealthByDriver): string {
  const drivers = [...states]
    .sort(byKey)
    .map(([driver, devices]) => [
      driver,
      { Devices: Object.fromEntries([...devices].sort(byKey).map(([key, device]) => [key, healthState(device)])) },
    ]);
  return goJson(Object.fromEntries(drivers));
}

/** Throws for a text that is not kubelet's. */
export function decodeHealth(text: string): HealthByDriver {
  const drivers = Object.entries(fieldsOf(JSON.parse(text))).map(([driver, state]) => {
    const devices = Object.values(fieldsOf(fieldsOf(state)['Devices'])).map(decodeDevice);
    return [driver, new Map(devices.map((device) => [deviceKey(device), device]))] as const;
  });
  return new Map(drivers);
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

function healthState({ poolName, deviceName, health, message, updatedMs, timeoutMs }: DeviceHealth): object {
  return {
    PoolName: poolName,
    DeviceName: deviceName,
    Health: health,
    LastUpdated: formatNanoTime(BigInt(Math.floor(updatedMs)) * BigInt(NS_PER_MS)),
    HealthCheckTimeout: timeoutMs * NS_PER_MS,
    Message: message,
  };
}

function decodeDevice(value: unknown): DeviceHealth {
  const { PoolName, DeviceName, Health, LastUpdated, HealthCheckTimeout, Message } = fieldsOf(value);
  return {
    poolName: String(PoolName ?? ''),
    deviceName: String(DeviceName ?? ''),
    health: Health === 'Healthy' || Health === 'Unhealthy' ? Health : 'Unknown',
    message: String(Message ?? ''),
    updatedMs: Number(parseNanoTime(String(LastUpdated)) / BigInt(NS_PER_MS)),
    timeoutMs: Number(HealthCheckTimeout ?? 0) / NS_PER_MS || DEFAULT_TIMEOUT_MS,
  };
}

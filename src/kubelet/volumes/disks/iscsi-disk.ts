/** An iSCSI disk, in the words of kubelet's `iscsi.json`. */
export interface IscsiDisk {
  readonly VolName: string;
  /** `address:port`; the first names its directory. */
  readonly Portals: readonly string[];
  readonly Iqn: string;
  readonly Lun: string;
  /** The interface that is configured on the node. */
  readonly InitIface: string;
  /** The interface that is used: a copy of `InitIface` for a volume with its own initiator name. */
  readonly Iface: string;
  readonly InitiatorName: string;
}

interface IscsiSource {
  readonly targetPortal: string;
  readonly portals?: readonly string[] | undefined;
  readonly iqn: string;
  readonly lun: number;
  readonly iscsiInterface?: string | undefined;
  readonly initiatorName?: string | undefined;
}

const DEFAULT_INTERFACE = 'default';
const DEFAULT_PORT = 3260;
const FOLDER = /\/iface-([^/]+)\/([^/]+)$/;

export function iscsiDisk(volumeName: string, source: IscsiSource): IscsiDisk {
  const { targetPortal, portals = [], iqn, lun, iscsiInterface, initiatorName = '' } = source;
  const all = [targetPortal, ...portals].map((portal) => (portal.includes(':') ? portal : `${portal}:${DEFAULT_PORT}`));
  const iface = iscsiInterface || DEFAULT_INTERFACE;
  return {
    VolName: volumeName,
    Portals: all,
    Iqn: iqn,
    Lun: String(lun),
    InitIface: iface,
    Iface: initiatorName === '' ? iface : `${all[0]}:${volumeName}`,
    InitiatorName: initiatorName,
  };
}

/** Below the directory of the plugin: `iface-default/10.0.0.1:3260-iqn.2026-01.example:a-lun-0`. */
export function iscsiFolder({ Portals, Iqn, Lun, Iface }: IscsiDisk): string {
  return `iface-${Iface}/${Portals[0]}-${Iqn}-lun-${Lun}`;
}

/** The disk of a directory without `iscsi.json`, as far as its name has it. */
export function diskOfFolder(path: string): IscsiDisk | undefined {
  const [, Iface, name] = FOLDER.exec(path) ?? [];
  const [, portal, Iqn, Lun] = /^(.*?)-((?:iqn|eui)\..*)-lun-(\d+)$/.exec(name ?? '') ?? [];
  if (Iface === undefined || portal === undefined || Iqn === undefined || Lun === undefined) return undefined;
  return { VolName: '', Portals: [portal], Iqn, Lun, InitIface: Iface, Iface, InitiatorName: '' };
}

/** As Go writes it: kubelet reads it back. */
export function encodeIscsiDisk(disk: IscsiDisk): string {
  return `${JSON.stringify({ ...disk, MetricsProvider: null })}\n`;
}

/** `undefined`: the file is damaged. */
export function decodeIscsiDisk(text: string): IscsiDisk | undefined {
  try {
    const { Portals, ...fields }: Partial<Record<keyof IscsiDisk, unknown>> = JSON.parse(text);
    const texts = [fields.VolName, fields.Iqn, fields.Lun, fields.InitIface, fields.Iface, fields.InitiatorName];
    const [VolName, Iqn, Lun, InitIface, Iface, InitiatorName] = texts.map((each) =>
      typeof each === 'string' ? each : '',
    );
    const portals = Array.isArray(Portals) ? Portals.filter((each) => typeof each === 'string') : [];
    if (!Iqn || !Lun || portals.length === 0) return undefined;
    const rest = { InitIface: InitIface ?? '', Iface: Iface ?? '', InitiatorName: InitiatorName ?? '' };
    return { VolName: VolName ?? '', Portals: portals, Iqn, Lun, ...rest };
  } catch {
    return undefined;
  }
}

/** The link that udev creates for a disk; `*` stands for the address of a hardware adapter. */
export function devicePattern(portal: string, { Iqn, Lun }: IscsiDisk, transport: string): RegExp {
  const address = portal.replaceAll(/[[\]]/g, '');
  const adapter = transport === 'tcp' ? '' : 'pci-.*-';
  return new RegExp(`^${adapter}${literal(`ip-${address}-iscsi-${Iqn}-lun-${Lun}`)}$`);
}

/** The transport of an interface, as `iscsiadm` shows it; `undefined`: it shows none. */
export function transportOf(shown: string): string | undefined {
  const [, transport] = /iface\.transport_name = (.*)\n/.exec(shown) ?? [];
  return transport === '<empty>' ? 'tcp' : transport;
}

/** The settings of an interface that a copy of it gets, in order. */
export function interfaceSettings(shown: string): readonly (readonly [string, string])[] {
  const lines = shown.split('\n').filter((line) => line.startsWith('iface.') && !line.includes('<empty>'));
  return lines.flatMap((line) => {
    const [name, sign, value, ...more] = line.split(/\s+/).filter((word) => word !== '');
    if (name === undefined || sign !== '=' || value === undefined || more.length > 0) {
      throw new Error(`error: invalid iface setting: ${line}`);
    }
    return name === 'iface.iscsi_ifacename' ? [] : [[name, value] as const];
  });
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

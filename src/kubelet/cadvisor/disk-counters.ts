/** What the kernel counts for a block device since boot. */
export interface DiskCounters {
  /** `/dev/vda` */
  readonly device: string;
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedMs: number;
}

/** Parses /proc/diskstats: `8 0 sda 40 0 280 223 7 0 22 108 0 330 330`. By `major:minor`. */
export function parseDiskStats(text: string): ReadonlyMap<string, DiskCounters> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [major, minor, name, ...figures] = line.trim().split(/\s+/);
      if (major === undefined || minor === undefined || name === undefined) return [];
      const at = (index: number): number => Number(figures[index] ?? 0);
      return [
        [
          `${major}:${minor}`,
          {
            device: `/dev/${name}`,
            reads: at(0),
            readsMerged: at(1),
            sectorsRead: at(2),
            readMs: at(3),
            writes: at(4),
            writesMerged: at(5),
            sectorsWritten: at(6),
            writeMs: at(7),
            inProgress: at(8),
            ioMs: at(9),
            weightedMs: at(10),
          },
        ] as const,
      ];
    }),
  );
}

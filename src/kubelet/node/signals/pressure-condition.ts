/** The conditions of a node that is short of a resource. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** A choice of devices, where there is one. */
export function Device(props: {
  title: string;
  devices: MediaDeviceInfo[];
  value: string;
  onChange: (id: string) => void;
}) {
  if (props.devices.length < 2) return null;
  return (
    <label>
      {props.title}
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        <option value="">As the system chooses</option>
        {props.devices.map((d) => (
          <option key={d.deviceId} value={d.deviceId}>
            {d.label}
          </option>
        ))}
      </select>
    </label>
  );
}

import { say } from "../../words";

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
        <option value="">{say("call.asSystemChooses")}</option>
        {props.devices.map((d) => (
          <option key={d.deviceId} value={d.deviceId} dir="auto">
            {d.label}
          </option>
        ))}
      </select>
    </label>
  );
}

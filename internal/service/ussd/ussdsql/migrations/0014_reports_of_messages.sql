-- Gateways report by what they called a message.
CREATE INDEX ussd_sms_reference ON ussd_sms (reference) WHERE reference <> '';
